"""docs/metrics.md says what the tables say."""

import re
from pathlib import Path

from ioplateau.tell import reference
from ioplateau.tell.prometheus import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_the_one_the_tables_make():
    written = PAGE.read_text(encoding="utf-8")

    assert written == reference.text(), "make it anew: python -m ioplateau.tell.reference"


def test_every_metric_stands_on_the_page_once_and_no_other():
    told = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    told = [name for name in told if name not in reference.VALUES]

    assert sorted(told) == sorted(table.prefix + row.name for table in TABLES for row in table.rows)


def test_the_values_of_labels_stand_on_the_page():
    page = PAGE.read_text(encoding="utf-8")

    assert set(reference.VALUES) <= {label for table in TABLES for label in table.labels}
    assert "| `dimension` | `iops`, `throughput`, `slots` |\n" in page
