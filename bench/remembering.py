"""What remembering costs within the daemon: CPU time of the thread that ticks, a tick a second.

    .venv/bin/python bench/remembering.py [--sizes small,here] [--seconds 60] [--rounds 2]
        [--code /other/worktree/exporter]

The packaged daemon with a state directory and nobody who looks, on a made-up machine (`here`: on this
one), with thread_time() around remembering (which each ten seconds has the writer begin), around the
writer's job beside it, and around each tick. The state before is kept alive, so that to drop it is
not counted; what the clock itself takes is taken off. --code: other editions, measured in turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import process
from sizes import SIZES, directory, print_rows

WARM_UP_SECONDS = 20
WRITTEN_SECONDS = 10  # from one job of the writer to the next
HERE = "here"
PARTS = ("clock", "remembering", "writing", "tick")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default=f"small,{HERE}", help="of " + ",".join((*SIZES, HERE)))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--code", action="append", default=[], metavar="EXPORTER_DIRECTORY")
    given = parser.parse_args()
    editions = ["", *given.code]
    rows = []
    for size in given.sizes.split(","):
        for _ in range(given.rounds):
            rows += [[size, code or "-", *measure(size, code, given.seconds)] for code in editions]
    head = [
        "size",
        "code",
        "remembering us (median)",
        "tick us",
        "more CPU a tick",
    ]
    print_rows([*head, "writer's thread us a tick", "more with it"], rows)


def measure(size: str, code: str, seconds: int) -> list[str]:
    """One run's row."""
    with ExitStack() as stack:
        root, kept = stack.enter_context(directory()), stack.enter_context(directory())
        paths = []
        if size != HERE:
            stack.enter_context(process.advancing_tree(root, *SIZES[size]))
            paths = ["--path.procfs", str(root / "proc"), "--path.sysfs", str(root / "sys")]
        command = process.bench_command("remembering", "serve", "--no-cloud", "--log.level", "error",
                                        "--web.listen-address", f"127.0.0.1:{process.free_port()}",
                                        "--state.directory", kept, *paths)  # fmt: skip
        at = command.index("-c") + 1
        command[at] = command[at].replace("main()", f"daemon({code!r})")
        daemon = stack.enter_context(process.Program(command))
        time.sleep(WARM_UP_SECONDS + seconds)
        daemon.end()
        told = json.loads(daemon.line())
    clock, each, ticks = (told[part][-seconds:] for part in ("clock", "remembering", "tick"))
    empty = statistics.median(clock)
    remembering, tick = statistics.mean(each) - empty, statistics.mean(ticks) - empty
    median, rest = statistics.median(each) - empty, tick - remembering
    # The first and the last of it are no ten seconds.
    writing = statistics.mean(told["writing"][1:-1]) / WRITTEN_SECONDS
    return [f"{remembering * 1e6:.1f} ({median * 1e6:.1f})", f"{tick * 1e6:,.0f}", f"{remembering / rest:.1%}",
            f"{writing * 1e6:.0f}", f"{(remembering + writing) / rest:.1%}"]  # fmt: skip


def daemon(code: str) -> None:
    """The daemon with clocks in it, which tells what they said when it ends."""
    if code:
        sys.path.insert(0, code)
    from ioplateau.history import History
    from ioplateau.run.historyfiles import HistoryFiles
    from ioplateau.run.loop import Loop

    took: dict[str, list[float]] = {part: [] for part in PARTS}
    alive: deque[Any] = deque(maxlen=2)

    def charge(owner: Any, name: str, part: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)
        values, clock, empty = took[part], time.thread_time, took["clock"]

        def charged(*arguments: Any, **named: Any) -> Any:
            if part == "remembering":
                alive.append(arguments)
                begun = clock()
                empty.append(clock() - begun)
            begun = clock()
            try:
                return function(*arguments, **named)
            finally:
                values.append(clock() - begun)

        setattr(owner, name, charged)

    charge(History, "observe", "remembering")
    charge(HistoryFiles, "_write", "writing")
    charge(Loop, "tick", "tick")
    from ioplateau.cli import main as command

    try:
        command(sys.argv[1:])
    finally:
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    main()
