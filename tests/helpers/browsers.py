"""Headless Chromium, driven by playwright: Debian's, nothing is downloaded.

with opened_browser() as browser:
    page = browser.new_page()
"""

import contextlib
import shutil

from playwright.sync_api import sync_playwright


@contextlib.contextmanager
def opened_browser():
    """A browser that runs as root and in containers. Raises LookupError if there is none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise LookupError("there is no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            # /dev/shm of a container is small.
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
            timeout=60_000,
        )
        try:
            yield browser
        finally:
            browser.close()
