"""Write the dashboards: `python dashboards/generate.py` (make docs).

They are committed because people import them; a test holds the files to this program.
"""

from __future__ import annotations

from pathlib import Path

from boards.frame import text

from boards import disk, fleet, nfs, vm, volume

HERE = Path(__file__).parent
BOARDS = {
    "fleet": fleet.board,
    "vm": vm.board,
    "disk": disk.board,
    "nfs": nfs.board,
    "volume": volume.board,
}


def main() -> None:
    for name, board in BOARDS.items():
        (HERE / f"ioplateau-{name}.json").write_text(text(board()), encoding="utf-8")


if __name__ == "__main__":
    main()
