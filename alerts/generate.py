# ruff: noqa: INP001
"""Write the rule files: `python alerts/generate.py [DIRECTORY]` (make docs).

They are committed because people import them; a test holds the files to this program.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rulebook.files import FILES, text


def main() -> None:
    there = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name in FILES:
        (there / f"ioplateau-{name}.rules.yml").write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
