"""The report as a browser shows it and as a printer has it: nothing is cut off, nobody is asked."""

from pathlib import Path

import pytest

from browsers import opened_browser
from ioplateau.engine import EngineSettings
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.run import report
from ioplateau.run.report import TimeSpan
from ioplateau.run.settings import ServeSettings
from ioplateau.tell.report import document, render

pytestmark = pytest.mark.live

STRIPE = Path(__file__).parents[1] / "machines" / "vm_group_d4s" / "recording.jsonl.gz"
RULES = Rules((ConfiguredLimit(disk="sd?", iops=2300), ConfiguredLimit(vm="uncached", iops=6400)))
# Of A4 and of a telephone, in CSS pixels: 186 mm of 25.4 mm with 96 pixels each.
PAPER, TELEPHONE = 703, 390


def test_it_is_whole_on_a_screen_a_telephone_and_paper_and_asks_nobody(tmp_path):
    settings = ServeSettings(EngineSettings(rules=RULES, asks_cloud=False))
    made = document.document(*report.of_recording(STRIPE, settings, TimeSpan()))
    file = tmp_path / "report.html"
    file.write_text(render.html(made), encoding="utf-8")
    asked, said, widths = [], [], {}
    with opened_browser() as browser:
        for medium, width in (("screen", 1200), ("screen", TELEPHONE), ("print", PAPER)):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: said.append(message.text))
            page.emulate_media(media=medium)
            page.goto(file.as_uri())
            widths[medium, width] = page.evaluate("document.documentElement.scrollWidth")
            page.close()

    assert set(asked) == {file.as_uri()}
    assert said == []
    assert all(found <= width for (_, width), found in widths.items()), widths
