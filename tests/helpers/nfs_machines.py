"""Two guests: an NFS server, and a client with the daemon in it as an unprivileged user.

with running_machines(directory) as machines:
    machines.client.run("fio …")
    machines.scrape().verdict("volume", "/mnt/a4")
    machines.scrape(TOLD).verdict("volume", "/mnt/a4")   # a second daemon, told its limit, which
                                                         # may see what each process does
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from guests.guest import Guest, Link
from guests.install import PROJECT, installed
from guests.nfs import limit_bandwidth, mount_nfs, serve_nfs
from live_daemon import Exposition, scrape

UNTOLD, TOLD = 10049, 10050  # ports of the daemon without a configuration, and with one
# Mount point, export, version, nconnect. sub3 is a second mount of a3's superblock, b3 and b4
# second superblocks of one client; bind4 is a4 once more.
MOUNTS = (
    ("/mnt/a3", "/export/a", "3", 2),
    ("/mnt/sub3", "/export/a/sub", "3", 2),
    ("/mnt/b3", "/export/b", "3", 2),
    ("/mnt/a4", "/export/a", "4.1", 4),
    ("/mnt/b4", "/export/b", "4.1", 4),
)
SUPERBLOCKS = {"/mnt/a3", "/mnt/b3", "/mnt/a4", "/mnt/b4"}
CONNECTIONS = {"3": 2, "4.1": 4}
# What a volume may do, as a cloud counts it: payload. On the wire that is WIRE_RATE with all
# headers and acknowledgements of 1500-byte packets, of which payload is 94 %.
WIRE_BYTES_PER_SECOND = 4_000_000
VOLUME_BYTES_PER_SECOND = 3_760_000
LIMITED = "/mnt/a4"
# Mounts that nothing limits, told a limit that they never come near.
FAR_V3, FAR_V41 = "/mnt/far3", "/mnt/far4"
FAR_IOPS = 100_000
CONFIGURATION = f"""
[[limit]]
mount = "{LIMITED}"
bytes_per_second = {VOLUME_BYTES_PER_SECOND}
[[limit]]
mount = "{FAR_V3}"
iops = {FAR_IOPS}
[[limit]]
mount = "{FAR_V41}"
iops = {FAR_IOPS}
"""


@dataclass(frozen=True, slots=True)
class Machines:
    server: Guest
    client: Guest

    def url(self, port: int = UNTOLD) -> str:
        """Of the daemon that listens there, without a path."""
        return f"http://127.0.0.1:{self.client.port(port)}"

    def scrape(self, port: int = UNTOLD) -> Exposition:
        return scrape(f"{self.url(port)}/metrics")

    def scrape_settled(self) -> Exposition:
        """What ticks say that began after everything that ended before this."""
        time.sleep(2.5)
        return self.scrape()

    def read(self, path: str, count: int) -> None:
        """Exactly `count` reads of 4 KiB, past the page cache."""
        self.client.run(
            f"fio --name=count --filename={path} --size=64M --direct=1 --ioengine=libaio"
            f" --iodepth=4 --rw=randread --bs=4k --number_ios={count}"
        )

    def mount_all(self) -> None:
        """Every mount of MOUNTS, and bind4."""
        self.mount(MOUNTS)
        self.client.run("mkdir -p /mnt/bind4 && mount --bind /mnt/a4 /mnt/bind4")

    def unmount(self) -> None:
        """Every NFS mount; with the last one of a version its client goes."""
        self.client.run("umount --all --types nfs,nfs4")

    def mount(self, mounts: tuple[tuple[str, str, str, int], ...]) -> None:
        """Mount these, all there are, and wait until both daemons have seen their sockets."""
        for mount_point, export, version, nconnect in mounts:
            mount_nfs(
                self.client, self.server, export, mount_point, version=version, nconnect=nconnect
            )
        clients = {(version, nconnect) for _, _, version, nconnect in mounts}
        sockets = sum(nconnect for _, nconnect in clients)
        for port in (UNTOLD, TOLD):
            self._settle(port, sockets)

    @contextlib.contextmanager
    def limited_volume(self) -> Iterator[None]:
        """It may do VOLUME_BYTES_PER_SECOND, reads and writes together."""
        limit_bandwidth(self.server, WIRE_BYTES_PER_SECOND)
        try:
            yield
        finally:
            limit_bandwidth(self.server, None)

    def _settle(self, port: int, sockets: int) -> None:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, LookupError):
                now = self.scrape(port)
                seen = sum(now.values("ioplateau_nfs_tcp_sockets"))
                if seen == sockets and now.value("ioplateau_ticks_total") > 5:
                    return
            time.sleep(1)
        log = self.client.run("journalctl -u 'ioplateau*' | tail -n 50; ss -tn", check=False)
        raise TimeoutError(f"the daemon at port {port} of the guest did not come up:\n{log}")


@contextlib.contextmanager
def running_machines(directory: Path) -> Iterator[Machines]:
    """Both guests with every mount and two daemons, until the context ends."""
    link = Link()
    server = Guest("server", number=1, link=link, urgent=True)
    client = Guest("client", number=2, link=link, ports=(UNTOLD, TOLD), cpus=2, urgent=True)
    with server, client:
        files = installed(directory)  # while they boot
        server.wait_until_up()
        client.wait_until_up()
        serve_nfs(server, ["/export/a", "/export/b"])
        files_to_read = "/export/a/file /export/a/sub/file /export/b/file"
        server.run(f"truncate -s 64M {files_to_read} && chmod 666 {files_to_read}")
        client.put(files, "/opt/ioplateau")
        client.run(f"echo '{CONFIGURATION}' >/etc/told.toml")
        _serve(client, "ioplateau", UNTOLD)
        _let_see_processes(client, "ioplateau-told")
        _serve(client, "ioplateau-told", TOLD, "--config.file=/etc/told.toml")
        machines = Machines(server, client)
        machines.mount_all()
        yield machines


def _let_see_processes(client: Guest, unit: str) -> None:
    """With the drop-in that is shipped for it."""
    drop_ins = f"/run/systemd/system/{unit}.service.d"
    client.run(f"mkdir -p {drop_ins}")
    client.put(PROJECT / "deploy" / "systemd" / "processes.conf", f"{drop_ins}/processes.conf")


def _serve(client: Guest, unit: str, port: int, *flags: str) -> None:
    client.run(
        f"systemd-run --unit={unit} --uid=ioplateau --setenv=PYTHONPATH=/opt/ioplateau"
        f" python3 /opt/ioplateau/bin/ioplateau serve --web.listen-address=0.0.0.0:{port}"
        f" {' '.join(flags)}"
    )
