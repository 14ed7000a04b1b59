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
