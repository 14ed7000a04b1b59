"""The page in a browser: what it says before, during and after a throttled load and a restart, that it
renews itself alone, asks nobody else, and can be read by everybody.
"""

import contextlib
from pathlib import Path

import axe_playwright_python
import pytest

from browsers import opened_browser
from live_daemon import running_daemon
from throttled_disk import ThrottledDisk

pytestmark = [pytest.mark.live, pytest.mark.alone]

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
MILLISECONDS = 90_000  # a machine may be busy; nothing here measures how long something takes
LOOKS = [
    {"color_scheme": "light", "viewport": {"width": 1200, "height": 800}},
    {"color_scheme": "dark", "viewport": {"width": 1200, "height": 800}},
    {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
]


@pytest.fixture
def browser():
    with opened_browser() as opened:
        yield opened


class Visit:
    """A page that was opened, and what went wrong with it since."""

    def __init__(self, browser, url, **look):
        self.context = browser.new_context(**look)
        self.page = self.context.new_page()
        self.page.set_default_timeout(MILLISECONDS)
        self.url = url
        self.errors, self.foreign = [], []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._see)
        self.page.goto(url)

    def _hear(self, said):
        if said.type in {"error", "warning"}:
            self.errors.append(said.text)

    def _see(self, request):
        if not request.url.startswith(self.url):
            self.foreign.append(request.url)

    def wait_for(self, text, within="main"):
        """Until the element says so; the page is not loaded again for it."""
        self.page.locator(within).filter(has_text=text).first.wait_for()

    def text(self, within="main"):
        return self.page.locator(within).first.inner_text()


def violations(browser, url, **look):
    """What axe-core finds. It is put in past the page's own policy, which would not have it."""
    with contextlib.closing(browser.new_context(bypass_csp=True, **look)) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(url)
        page.evaluate(AXE.read_text())
        found = page.evaluate("axe.run()")["violations"]
        return [
            (each["id"], node["html"][:200], node["failureSummary"])
            for each in found
            for node in each["nodes"]
        ]


def test_before_during_and_after_a_throttled_load_and_a_restart(browser, tmp_path):
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(ThrottledDisk(read_iops=500))
        limits = f'[[limit]]\ndisk = "{disk.name}"\niops = 500\n'
        words = ["--no-cloud", f"--state.directory={tmp_path}"]
        article = f"article:has(.name:text-is('{disk.name}'))"
        with running_daemon(limits, tmp_path, words) as daemon:
            visit = Visit(browser, daemon.url)
            row = f"#episodes tr:has-text('{disk.name}')"
            assert visit.page.locator(f"{article} .bad").count() == 0
            assert visit.page.locator(row).count() == 0
            visit.page.evaluate("window.notLoadedAgain = true")

            load = disk.load(depth=16, seconds=300)  # ends with the disk
            visit.page.locator("h1.bad").wait_for()
            visit.wait_for("held at", article)
            visit.wait_for("500 IOPS over 15 s (configured: ioplateau.toml limit[0]", article)
            visit.wait_for("limit 500 IOPS", f"{article} figure")
            visit.wait_for("goes on", row)
            visit.wait_for(disk.name, "#disks")
            assert visit.page.locator(f"{article} svg[role=img]").count() == 3

            runbook = visit.page.locator(f"{article} a[href*=runbooks]")
            runbook.focus()
            since = visit.text("#about time")
            visit.page.wait_for_function(
                "since => document.querySelector('#about time').innerText !== since", arg=since
            )
            focused = visit.page.evaluate("document.activeElement.getAttribute('href')")
            assert focused.endswith("/runbooks/disk-throttled.md")
            for look in LOOKS:
                assert violations(browser, daemon.url, **look) == []
            for width in (390, 1000, 1280, 1600):
                wide = Visit(browser, daemon.url, viewport={"width": width, "height": 844})
                wide.page.locator(row).wait_for()
                for place in (
                    "document.documentElement",
                    "document.querySelector('#episodes-table')",
                ):
                    hidden = f"{place}.scrollWidth - {place}.clientWidth"
                    assert wide.page.evaluate(hidden) == 0, (place, width)

            load.stop()
            visit.wait_for("Last:", "#last")
            visit.page.locator("h1.good, h1.warn").wait_for()
            assert "500 IOPS (configured)" in visit.text(row)
            assert visit.page.locator(article).count() == 1  # its last minutes are drawn still
            assert visit.page.evaluate("window.notLoadedAgain") is True
            assert visit.errors == []
            assert visit.foreign == []
        with running_daemon(limits, tmp_path, words) as daemon:
            visit = Visit(browser, daemon.url)
            visit.wait_for("500 IOPS (configured)", row)  # remembered
            assert visit.page.locator(f"{article} .bad").count() == 0
            assert visit.errors == []


def test_it_says_when_it_is_old_and_is_whole_without_scripts(browser, tmp_path):
    with running_daemon("", tmp_path, ["--no-cloud"]) as daemon:
        plain = Visit(browser, daemon.url, java_script_enabled=False)
        visit = Visit(browser, daemon.url)
        assert "Budgets" in plain.text()
        assert plain.page.locator("noscript meta[http-equiv=refresh]").count() == 1
        policy = visit.page.request.get(daemon.url).headers["content-security-policy"]
        assert policy.startswith("default-src 'none';")
        assert "unsafe" not in policy
        for look in LOOKS:
            assert violations(browser, daemon.url, **look) == []
        width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        phone = Visit(browser, daemon.url, **LOOKS[2])
        assert phone.page.evaluate(width) == 0
        assert visit.errors == []
    visit.wait_for("No answer since", "#stale")


def test_a_person_without_a_mouse_reaches_and_scrolls_everything(browser, tmp_path):
    with running_daemon("", tmp_path, ["--no-cloud"]) as daemon:
        visit = Visit(browser, daemon.url, **LOOKS[2])
        visit.page.locator("#disks-table").wait_for()
        reached = []
        for _ in range(30):
            visit.page.keyboard.press("Tab")
            reached.append(
                visit.page.evaluate("document.activeElement.id || document.activeElement.tagName")
            )

        assert "disks-table" in reached
        assert "A" in reached
