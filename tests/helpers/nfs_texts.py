"""Texts of /proc/self/mountstats for tests: kept files, and records made to order."""

from __future__ import annotations

from pathlib import Path

FILES = Path(__file__).parent.parent / "measure" / "files" / "nfs"
READINGS = ("v41-nconnect4", "v41-two-mounts", "v3-slots")
ODD = ("odd-transports", "odd-names")

IDLE_READ = "100 100 0 20000 400000 50 300 400 0"
TWO_CONNECTIONS = (
    "tcp 0 0 2 0 9 7960 7950 0 41620 0 9 1617 32491",
    "tcp 0 0 2 0 9 7986 7986 0 41869 0 9 1909 32561",
)


def kept(name: str) -> bytes:
    return (FILES / f"{name}.txt").read_bytes()


def record(
    *,
    header: str = "device fs:/vol mounted on /mnt/vol with fstype nfs4 statvers=1.1",
    options: str = "rw,vers=4.1,hard,proto=tcp,sec=sys",
    age: str = "1000",
    events: str = " ".join(["7"] * 27),
    octets: str = "0 0 0 0 4096 8192 1 2",
    connections: tuple[str, ...] = TWO_CONNECTIONS,
    operations: tuple[str, ...] = (f"READ: {IDLE_READ}", "WRITE: 0 0 0 0 0 0 0 0 0"),
) -> bytes:
    lines = [
        header,
        f"\topts:\t{options}",
        f"\tage:\t{age}",
        "\tcaps:\tcaps=0x3fc7,wtmult=512,dtsize=4096,bsize=0,namlen=255",
        "\tsec:\tflavor=1,pseudoflavor=1",
        f"\tevents:\t{events} ",
        f"\tbytes:\t{octets} ",
        "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)",
        *(f"\txprt:\t{each}" for each in connections),
        "\tper-op statistics",
        *(f"\t{each}" for each in operations),
        "",
        "",
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def mounted(
    at: str,
    *,
    of: str = "fs:/vol",
    reads: int = 0,
    sends: int = 0,
    ports: tuple[int, ...] = (0, 0),
    age: int = 1000,
    version: str = "4.1",
) -> bytes:
    """A record in which `reads` calls of 4 KiB were done and each connection sent `sends`."""
    return record(
        header=f"device {of} mounted on {at} with fstype {fstype(version)} statvers=1.1",
        options=f"rw,vers={version},hard,proto=tcp,sec=sys",
        age=str(age),
        octets=f"0 0 0 0 {reads * 4096} 0 0 0",
        connections=tuple(
            f"tcp {port} 0 1 0 0 {sends} {sends} 0 {sends} 0 9 0 0" for port in ports
        ),
        operations=(f"READ: {reads} {reads} 0 {reads * 200} {reads * 4300} 0 {reads} {reads} 0",),
    )


def entry(
    at: str, device: str, *, of: str = "fs:/vol", address: str = "10.0.0.4", version: str = "4.1"
) -> bytes:
    """A line of mountinfo."""
    options = f"rw,vers={version},addr={address}"
    return f"30 1 {device} / {at} rw - {fstype(version)} {of} {options}\n".encode()


def fstype(version: str) -> str:
    return "nfs4" if version.startswith("4") else "nfs"
