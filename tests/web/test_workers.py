"""Workers, one of which hangs."""

import threading
from queue import SimpleQueue
from weakref import WeakSet

from ioplateau.web.http1 import Request
from ioplateau.web.workers import Workers

REQUEST = Request("GET", "/")


class Token:
    """Whom a request is of."""

    def __init__(self, number):
        self.number = number


def test_while_a_worker_hangs_what_nobody_waits_for_is_not_kept():
    hanging, answered, wanted, alive = threading.Event(), SimpleQueue(), set(), WeakSet()
    workers = Workers(
        "worker",
        1,
        lambda _: hanging.wait(60),
        wanted.__contains__,
        lambda token, *_: answered.put(token.number),
    )
    workers.start()
    for number in range(1000):
        wanted.intersection_update({each for each in wanted if each.number in (0, 500)})
        token = Token(number)
        wanted.add(token)
        alive.add(token)
        workers.ask(token, REQUEST)
    kept = len(alive)
    hanging.set()

    assert [answered.get(timeout=60) for _ in range(3)] == [0, 500, 999]
    assert kept < 100
    assert workers.close(60)
