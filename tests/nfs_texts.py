"""Texts of /proc/self/mountstats for tests: kept files, and records made to order."""

from __future__ import annotations

from pathlib import Path

FILES = Path(__file__).parent / "measure" / "files" / "nfs"
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
    age: str = "1000",
    events: str = " ".join(["7"] * 27),
    octets: str = "0 0 0 0 4096 8192 1 2",
    connections: tuple[str, ...] = TWO_CONNECTIONS,
    operations: tuple[str, ...] = (f"READ: {IDLE_READ}", "WRITE: 0 0 0 0 0 0 0 0 0"),
) -> bytes:
    lines = [
        header,
        "\topts:\trw,vers=4.1,hard,proto=tcp,sec=sys",
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
