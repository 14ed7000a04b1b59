"""Workers, one of which hangs."""

import threading
from queue import SimpleQueue

from ioplateau.web.http1 import Request
from ioplateau.web.workers import Workers

REQUEST = Request("GET", "/")


def test_while_a_worker_hangs_what_nobody_waits_for_is_not_kept():
    hanging, answered, wanted = threading.Event(), SimpleQueue(), set()
    workers = Workers(
        "worker",
        1,
        lambda _: hanging.wait(60),
        wanted.__contains__,
        lambda token, *_: answered.put(token),
    )
    workers.start()
    for token in range(1000):
        wanted.intersection_update((0, 500))
        wanted.add(token)
        workers.ask(token, REQUEST)
    kept = sum(map(len, workers._jobs._jobs.values()))
    hanging.set()

    assert [answered.get(timeout=60) for _ in range(3)] == [0, 500, 999]
    assert kept < 100
    assert workers.close(60)
