"""Draws docs/pictures/page-*.png: the page of a real daemon while a disk is really throttled.

Before, during and after a load and after a restart; light, dark and as wide as a phone. Needs root
and Debian's chromium; two minutes.   make pictures
"""

import contextlib
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from browsers import opened_browser  # noqa: E402
from live_daemon import running_daemon  # noqa: E402
from throttled_disk import ThrottledDisk  # noqa: E402

PICTURES = ROOT / "docs/pictures"
LOOKS = {
    "light": {"viewport": {"width": 1000, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1000, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
IOPS = 500


def main() -> None:
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(ThrottledDisk(read_iops=IOPS))
        browser = stack.enter_context(opened_browser())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        limits = f'[[limit]]\ndisk = "{disk.name}"\niops = {IOPS}\n'
        words = ["--no-cloud", f"--state.directory={directory}"]
        with running_daemon(limits, directory, words) as daemon:
            load = disk.load(rate_iops=100, depth=1, seconds=60)
            time.sleep(25)
            draw(browser, daemon.url, "before")
            load.stop()
            load = disk.load(depth=16, seconds=120)
            time.sleep(50)
            draw(browser, daemon.url, "during", tuple(LOOKS))
            load.stop()
            time.sleep(45)
            draw(browser, daemon.url, "after")
        with running_daemon(limits, directory, words) as daemon:
            time.sleep(5)
            draw(browser, daemon.url, "after-restart")


def draw(browser, url, name, looks=("light",)) -> None:
    for look in looks:
        with contextlib.closing(browser.new_context(**LOOKS[look])) as context:
            page = context.new_page()
            page.goto(url)
            file = PICTURES / f"page-{name}{'' if look == 'light' else '-' + look}.png"
            page.screenshot(path=file, full_page=True)
            print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
