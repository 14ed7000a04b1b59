"""NFS between guests: exports on one, mounts on another."""

from __future__ import annotations

from collections.abc import Sequence

from guests.guest import Guest

# The names of exports(5) and nfs(5). Every export is its own file system to clients (fsid), though
# all lie on the root image. async: the server answers before its emulated disk has written.
EXPORT_OPTIONS = "rw,async,no_subtree_check,no_root_squash,insecure"


def serve_nfs(server: Guest, directories: Sequence[str], *, threads: int = 16) -> None:
    """Export directories of the guest (made if missing) to every guest on its link."""
    lines = [
        f"{directory} 10.77.0.0/24({EXPORT_OPTIONS},fsid={number})"
        for number, directory in enumerate(directories, start=1)
    ]
    exports = "\\n".join(lines)
    server.run(
        f"mkdir -p {' '.join(directories)} && printf '{exports}\\n' >/etc/exports"
        f" && printf '[nfsd]\\nthreads={threads}\\n' >/etc/nfs.conf.d/threads.conf"
        " && systemctl restart nfs-server"
    )


def mount_nfs(
    client: Guest,
    server: Guest,
    export: str,
    mount_point: str,
    *,
    version: str = "4.1",
    nconnect: int = 1,
    options: str = "",
) -> None:
    """Mount `export` (or a directory below it) on the client."""
    given = [f"vers={version}", f"nconnect={nconnect}", "hard", "noatime"]
    given += ["nolock"] if version == "3" else []  # else it wants rpc.statd on the client
    given += [options] if options else []
    client.run(
        f"mkdir -p {mount_point}"
        f" && mount -t nfs -o {','.join(given)} {server.address}:{export} {mount_point}"
    )


def limit_bandwidth(guest: Guest, bytes_per_second: int | None) -> None:
    """One token bucket for both directions of the guest's link, as a cloud's NFS volume has it.

    None lifts it. Bytes on the wire: payload and all headers. Requests wait in a long queue, they
    are not dropped.
    """
    guest.run("tc qdisc del dev eth1 clsact 2>/dev/null; ip link del ifb0 2>/dev/null; true")
    if bytes_per_second is None:
        return
    burst = max(bytes_per_second // 20, 256 * 1024)
    bucket = f"tbf rate {bytes_per_second * 8}bit burst {burst} limit {64 * 1024 * 1024}"
    redirect = "matchall action mirred egress redirect dev ifb0"
    guest.run(
        "modprobe ifb numifbs=0 && ip link add ifb0 type ifb && ip link set ifb0 up"
        f" && tc qdisc add dev ifb0 root {bucket} && tc qdisc add dev eth1 clsact"
        f" && tc filter add dev eth1 egress {redirect} && tc filter add dev eth1 ingress {redirect}"
    )


def limit_slots(client: Guest, *, v3: int | None = None, v41: int | None = None) -> None:
    """Calls a connection (v3) or session (v4.1) may have outstanding; for mounts made after it."""
    if v3 is not None:
        client.run(f"modprobe sunrpc && echo {v3} >/proc/sys/sunrpc/tcp_max_slot_table_entries")
    if v41 is not None:
        client.run(f"modprobe nfs && echo {v41} >/sys/module/nfs/parameters/max_session_slots")


def delay_link(guest: Guest, milliseconds: float) -> None:
    """Make the guest's link slower to answer; without it a few slots are enough for anything."""
    guest.run(f"tc qdisc replace dev eth1 root netem delay {milliseconds}ms limit 100000")
