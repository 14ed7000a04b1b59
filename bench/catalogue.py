"""What the catalogue costs: resident memory and time of finding a machine's limits, with and without.

Each in a process of its own that does what the daemon does once: identify the machine, look up
its size and every disk. The table is printed; run it again where the numbers matter.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

DISKS = 16
ROUNDS = 9
ONE = """
import resource, sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
import cloud_machines
from ioplateau.limits import topology
from ioplateau.limits.clouds import discover
from ioplateau.limits.tables import Tables
from ioplateau.run.cataloguefiles import CatalogueFiles
block = {{f"sd{{chr(98 + n)}}": cloud_machines.scsi(cloud_machines.SCSI1, n) for n in range({disks})}}
devices = cloud_machines.devices(**block)
answer = cloud_machines.azure_answer(*(cloud_machines.data_disk(str(n)) for n in range({disks})))
def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
catalogue = CatalogueFiles() if {with_tables} else Tables({{}})
def find(catalogue):
    identity = discover.identify("azure", {{"azure/instance": answer}}, devices, {{}})
    sold = discover.sold(identity, catalogue)
    return topology.build(devices, (), (), topology.Rules(), catalogue, sold)
find(Tables({{}}))  # the cloud's modules are loaded on first use: they are not the catalogue
before, start = resident(), time.perf_counter()
found = find(catalogue)
took = time.perf_counter() - start
limits = sum(len(budget.limits) for budget in found.budgets.values())
print(took, resident() - before, resident(), limits)
"""


def main() -> int:
    """Print the table."""
    tests = str(__file__).rpartition("/bench/")[0] + "/tests/helpers"
    print(f"Azure VM with {DISKS} data disks, {ROUNDS} processes: least time, median memory")
    print(f"{'':20}{'time ms':>10}{'grown KiB':>12}{'resident MiB':>14}{'limits':>8}")
    for name, with_tables in (("without catalogue", False), ("with catalogue", True)):
        code = ONE.format(tests=tests, disks=DISKS, with_tables=with_tables)
        rows = [[float(word) for word in _run(code).split()] for _ in range(ROUNDS)]
        took = min(row[0] for row in rows)
        _, grown, resident, limits = map(statistics.median, zip(*rows, strict=True))
        print(
            f"{name:20}{took * 1e3:10.2f}{grown / 1024:12,.0f}{resident / 2**20:14.1f}{limits:8.0f}"
        )
    return 0


def _run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
