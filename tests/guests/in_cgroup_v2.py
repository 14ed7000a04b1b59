"""Runs in a guest: a throttled loop device where cgroups are v2. Prints what it saw as JSON."""

import json
import time
from pathlib import Path

from throttled_disk import MIB, ThrottledDisk

with ThrottledDisk(read_iops=100, size_bytes=32 * MIB) as disk:
    load = disk.load(depth=8, seconds=8)
    in_flight = 0
    while load.running():  # an emulated machine may take seconds to start it
        stat = Path(f"/sys/block/{disk.name}/stat").read_text().split()
        in_flight = max(in_flight, int(stat[8]))
        time.sleep(0.2)
    iops = load.result()["read"]["iops"]

kind = Path("/proc/self/mounts").read_text().split("/sys/fs/cgroup ")[1].split()[0]
left = [str(path) for path in Path("/sys/fs/cgroup").glob("ioplateau-*")]
print(json.dumps({"hierarchy": kind, "iops": iops, "in_flight": in_flight, "left": left}))
