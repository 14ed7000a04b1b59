"""What a tick costs in a guest with real NFS mounts, beside merely reading the same files.

    .venv/bin/python bench/nfs_guest.py [--seconds 60]

Two QEMU guests, a server and a client with twelve mounts (NFS 4.1, nconnect 4) of which three are
read from. In the client the daemon, as the packages have it, and bench/floor.py run side by side. CPU
is the scheduler's clock of all threads, second by second: the medians are of the seconds without
anything that is done seldom. Emulation slows everything by far, and not evenly.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import process
from guests.guest import Guest, Link, booted
from guests.nfs import mount_nfs, serve_nfs

MOUNTS, BUSY = 12, 3
PYTHON = "/usr/bin/python3 -I -S -B"
OURS = f"{PYTHON} /opt/packaged serve --no-cloud --web.listen-address 127.0.0.1:10049"
# It reads until standard input closes.
FLOOR = f"sleep infinity | {PYTHON} /opt/packaged/floor.py"
READING = "fio --name=load --size=8M --direct=1 --ioengine=psync --filename"
WARM_UP_SECONDS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    seconds = parser.parse_args().seconds
    link = Link()
    server = Guest("server", number=1, link=link)
    client = Guest("client", number=2, link=link, memory_mib=1024)
    with booted(server, client):
        exports = [f"/export/{number}" for number in range(MOUNTS)]
        serve_nfs(server, exports)
        for number, export in enumerate(exports):
            mount_nfs(client, server, export, f"/mnt/{number}", nconnect=4)
        for number in range(BUSY):
            load = f"{READING} /mnt/{number}/file"
            client.run(f"{load} --rw=write --bs=256k")
            start(
                client,
                f"load{number}",
                f"{load} --rw=randread --bs=4k --rate_iops=20 --loops=10000",
            )
        packaged = process.packaged()
        shutil.copy(Path(__file__).with_name("floor.py"), packaged)
        client.put(packaged, "/opt/packaged")
        start(client, "ours", OURS)
        start(client, "floor", f"sh -c '{FLOOR}'")
        time.sleep(WARM_UP_SECONDS)
        tick, floor = (statistics.median(each) for each in zip(*used(client, seconds), strict=True))
        kernel = client.run("uname -r").strip()
    print(f"Linux {kernel}, emulated; {MOUNTS} NFS mounts, {BUSY} of them busy; {seconds} s")
    print(f"CPU of a tick {tick:.1f} ms, of reading its files {floor:.1f} ms: {tick / floor:.2f}")


def start(client: Guest, unit: str, command: str) -> None:
    client.run(f"systemd-run --quiet --unit {unit} {command}")


def used(client: Guest, seconds: int) -> list[tuple[float, float]]:
    """Milliseconds of CPU of both programs, of each second."""
    clock = "cat /proc/$1/task/*/schedstat | awk '{ms += $1 / 1e6} END {printf \"%.3f \", ms}'"
    looks = client.run(
        f"cpu() {{ {clock}; }}; ours=$(systemctl show -p MainPID --value ours)\n"
        f"floor=$(pgrep -f '^{PYTHON}.*floor.py')\n"
        f"for look in $(seq {seconds + 1}); do cpu $ours; cpu $floor; echo; sleep 1; done"
    )
    clocks = [[float(each) for each in line.split()] for line in looks.splitlines() if line.strip()]
    return [
        (ours - ours_before, floor - floor_before)
        for (ours_before, floor_before), (ours, floor) in pairwise(clocks)
    ]


if __name__ == "__main__":
    main()
