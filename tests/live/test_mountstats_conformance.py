"""Our rates against nfs-utils: the same two readings, printed as `mountstats` prints them.

`mountstats iostat` shows READ and WRITE by nfsiostat's formulas, `mountstats mountstats --rpc`
the means of every operation. Both texts are compared whole: no tolerance but their rounding.
"""

from __future__ import annotations

import random
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from ioplateau.measure import mountstats
from ioplateau.measure.mountstats import Mount, Operation, OperationRates
from nfs_texts import READINGS, TWO_CONNECTIONS, kept, record

pytestmark = pytest.mark.live

TOOL = "/usr/sbin/mountstats"
V3 = "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE READDIR READDIRPLUS FSINFO COMMIT"
V4 = "NULL READ WRITE COMMIT OPEN CLOSE SETATTR RENEW ACCESS GETATTR LOOKUP SEQUENCE READ_PLUS"


def tool(*arguments: str) -> str:
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=True).stdout


def files(folder: Path, before: bytes, after: bytes) -> tuple[str, str, str, str]:
    old, new = folder / "old", folder / "new"
    old.write_bytes(before)
    new.write_bytes(after)
    return "-f", str(new), "-S", str(old)


def pairs(before: bytes, after: bytes) -> list[tuple[Mount, Mount]]:
    first, second = mountstats.parse(before), mountstats.parse(after)

    assert first.rejects == second.rejects == ()
    return list(zip(first.mounts, second.mounts, strict=True))


def milliseconds(seconds: float) -> float:
    # By way of the shortest decimals, or 0.0625 ms would come back from 6.25e-05 s as
    # something that rounds to the other side.
    return float(Decimal(repr(seconds)).scaleb(3))


def rows_as_iostat(before: Mount, after: Mount, *, sums_connections: bool) -> str:
    elapsed = after.age_seconds - before.age_seconds
    rates = mountstats.rates(before, after, elapsed)
    client = mountstats.client_rates(before.connections, after.connections, elapsed)

    assert rates is not None
    assert client is not None
    last = client.connections[-1]
    calls = client.calls_per_second if sums_connections else last.sends_per_second
    backlog = client.mean_backlog if sums_connections else last.mean_backlog
    lines = [
        "",
        f"{after.device} mounted on {after.mount_point}:",
        "",
        f"{'ops/s':>16}{'rpc bklog':>16}",
        f"{calls:>16.3f}{(backlog or 0.0) / elapsed:>16.3f}",
        "",
    ]
    for name in ("READ", "WRITE"):
        lines += rows_of_operation(name, rates.operations.get(name), elapsed)
    return "\n".join(lines) + "\n"


def rows_of_operation(name: str, rates: OperationRates | None, elapsed: int) -> list[str]:
    titles = (
        "kB/s",
        "kB/op",
        "retrans",
        "avg RTT (ms)",
        "avg exe (ms)",
        "avg queue (ms)",
        "errors",
    )
    heading = f"{name.lower() + ':':<16}{'ops/s':>8}" + "".join(f"{title:>16}" for title in titles)
    if rates is None:
        none = "0 (0.0%)"
        return [
            heading,
            f"{0:>24.3f}{0:>16.3f}{0:>16.3f}{none:>16}" + f"{0:>16.3f}" * 3 + f"{none:>16}",
        ]
    octets = sum(
        round(each * elapsed)
        for each in (rates.bytes_sent_per_second, rates.bytes_received_per_second)
    )
    grown = rates.grown
    # Older kernels count calls without a transmission now and then.
    retransmitted = share(max(grown.transmissions - grown.operations, 0), grown.operations)
    errors = share(grown.errors or 0, grown.operations)
    return [
        heading,
        f"{rates.operations_per_second:>24.3f}{octets / 1024 / elapsed:>16.3f}"
        f"{octets / grown.operations / 1024:>16.3f}{retransmitted:>16}"
        + "".join(
            f"{milliseconds(seconds):>16.3f}"
            for seconds in (rates.rtt_seconds, rates.execute_seconds, queue_seconds(grown))
        )
        + f"{errors:>16}",
    ]


def share(count: int, calls: int) -> str:
    return f"{count} ({float(Decimal(repr(count / calls)).scaleb(2)):.1f}%)"


def queue_seconds(grown: Operation) -> float:
    """Mean time a call waited on the client."""
    return grown.queue_milliseconds / (1000 * grown.operations)


def rows_as_rpc_statistics(before: Mount, after: Mount) -> list[str]:
    """The lines of each operation, in the table's order."""
    elapsed = after.age_seconds - before.age_seconds
    rates = mountstats.rates(before, after, elapsed)

    assert rates is not None
    lines = []
    for name, each in rates.operations.items():
        calls = round(each.operations_per_second * elapsed)
        sent = round(each.bytes_sent_per_second * elapsed)
        received = round(each.bytes_received_per_second * elapsed)
        times = [queue_seconds(each.grown), each.rtt_seconds, each.execute_seconds]
        wait, rtt, execute = (f"{milliseconds(seconds):f}" for seconds in times)
        lines += [
            f"{name}: {calls} ops",
            f"avg bytes sent per op: {sent // calls}\tavg bytes received per op: {received // calls}",
            f"backlog wait: {wait} \tRTT: {rtt} \ttotal execute time: {execute} (milliseconds)",
        ]
    return lines


def shown_operations(text: str) -> dict[str, list[list[str]]]:
    """The same lines of the tool, by mount point; it sorts them by calls, we do not."""
    mounts: dict[str, list[list[str]]] = {}
    name = ""
    for line in text.splitlines():
        words = line.strip()
        if line.startswith("Stats for "):
            blocks = mounts.setdefault(words.split(" mounted on ")[1].rstrip(":"), [])
        elif line and not line.startswith(("\t", " ")) and words.endswith(":"):
            name = words
        elif " ops (" in line:
            blocks.append([f"{name} {words.split()[0]} ops"])
        elif words.startswith(("avg bytes", "backlog wait")):
            blocks[-1].append(words)
    return mounts


@pytest.fixture(scope="module")
def sums_connections(tmp_path_factory) -> bool:
    """Whether this nfs-utils sums over the connections (from March 2026) or takes the last."""
    before = generated(random.Random(1), age=10, connections=2, growth=None)
    after = before.replace(b"xprt:\ttcp 0 0 1 0 0 1000 ", b"xprt:\ttcp 0 0 1 0 0 1900 ", 1)
    after = after.replace(b"\tage:\t10\n", b"\tage:\t20\n")
    text = tool("iostat", *files(tmp_path_factory.mktemp("probe"), before, after))
    return " 90.000 " in text


def test_means_at_the_edge_of_rounding_are_those_of_mountstats(tmp_path):
    """Seen in a recording: 11 ms over 80 calls are 0.1375 ms each."""
    lines = (
        "READ: 9006 9006 0 1 1 5281 358318 366445 0",
        "READ: 9086 9086 0 9 9 5292 358442 366586 0",
    )
    before, after = (
        record(age=age, connections=TWO_CONNECTIONS[:1], operations=(line, "WRITE: " + "0 " * 9))
        for age, line in zip(("7", "8"), lines, strict=True)
    )
    ((was, now),) = pairs(before, after)

    assert "0.138" in tool("iostat", *files(tmp_path, before, after))
    assert "0.138" in rows_as_iostat(was, now, sums_connections=False)


def generated(rng: random.Random, *, age: int, connections: int, growth: int | None) -> bytes:
    """A file of three mounts; `growth` of None: every counter at a start of its own."""
    text = b"device tmpfs mounted on /run with fstype tmpfs\n"
    for number, names in enumerate((V3, V4, V4)):
        more = 0 if growth is None else growth
        fstype, version = ("nfs", 3) if names is V3 else ("nfs4", 4)
        lines = [
            f"device fs{number}:/vol mounted on /mnt/{number} with fstype {fstype} statvers=1.1",
            "\topts:\trw,vers=3" if version == 3 else "\topts:\trw,vers=4.1",
            f"\tage:\t{age}",
            "\tcaps:\tcaps=0x3fc7,wtmult=512,dtsize=4096,bsize=0,namlen=255",
            "\tsec:\tflavor=1,pseudoflavor=1",
            "\tevents:\t" + "1 " * 27,
            "\tbytes:\t" + "1 " * 8,
            f"\tRPC iostats version: 1.1  p/v: 100003/{version} (nfs)",
        ]
        for _ in range(connections):
            sends = 1000 + rng.randrange(more + 1)
            lines.append(
                f"\txprt:\ttcp 0 0 1 0 0 {sends} {sends} 0 {5000 + rng.randrange(more + 1)} "
                f"{rng.randrange(more + 1)} 9 {rng.randrange(more + 1)} {rng.randrange(more + 1)}"
            )
        lines.append("\tper-op statistics")
        lines += [f"\t{name:>12}: {row(rng, more, number)}" for name in names.split()]
        text += "\n".join([*lines, "", ""]).encode()
    return text


def row(rng: random.Random, growth: int, number: int) -> str:
    """Counters grown from 100 each. Powers of two among the calls make exact ties of rounding."""
    calls = rng.choice((0, 1, 2 ** rng.randrange(12), rng.randrange(growth + 1))) if growth else 0
    columns = [calls, calls + (rng.randrange(3) if calls else 0), 0]
    columns += [rng.randrange(growth * 100 + 1) if calls else 0 for _ in range(5)]
    errors = [rng.randrange(calls + 1)]
    return " ".join(str(100 + each) for each in columns + (errors if number < 2 else []))


def readings() -> list[object]:
    real = [
        pytest.param(kept(f"{name}-before"), kept(f"{name}-after"), id=name) for name in READINGS
    ]
    made = []
    for seed in range(20):
        rng = random.Random(seed)
        connections = rng.choice((1, 2, 8))
        before = generated(rng, age=1000, connections=connections, growth=None)
        age = 1000 + rng.choice((1, 2, 3, 7, 15, 60, 3600))
        after = generated(rng, age=age, connections=connections, growth=10 ** rng.randrange(1, 6))
        made.append(pytest.param(before, after, id=f"generated-{seed}"))
    return real + made


@pytest.mark.parametrize(("before", "after"), readings())
def test_reads_and_writes_are_those_of_mountstats_iostat(tmp_path, before, after, sums_connections):
    text = tool("iostat", *files(tmp_path, before, after))
    ours = [
        rows_as_iostat(was, now, sums_connections=sums_connections)
        for was, now in pairs(before, after)
    ]

    assert text == "".join(ours)


@pytest.mark.parametrize(("before", "after"), readings())
def test_every_operation_is_that_of_mountstats_rpc(tmp_path, before, after):
    shown = shown_operations(tool("mountstats", "--rpc", *files(tmp_path, before, after)))
    compared = 0
    for was, now in pairs(before, after):
        ours = rows_as_rpc_statistics(was, now)
        compared += len(ours)

        assert sorted(ours) == sorted(line for block in shown[now.mount_point] for line in block)
    assert compared > 0
