"""Make the pictures of README and documentation from a demo: report and dashboard, as they are now.

    python tools/make_pictures.py WORKSPACE      a workspace that prophase demo has made

Needs Chromium and Playwright (the extra of the tests). Look at what it wrote before you commit it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
_PROPHASE = "from prophase.cli.main import run; run()"
#: picture -> address of a page of the dashboard
PAGES = {
    "dashboard-overview": "/",
    "dashboard-sizing": "/sizing?resource=gpu",
    "dashboard-user": "/users",
}
_WIDTH, _HEIGHT = 1200, 860
_PATIENCE_S = 300.0


def main(workspace: Path) -> None:
    """Write every picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = _page(browser)
        page.goto((workspace / "report.html").resolve().as_uri())
        _shoot(page, "report")
        with _served(workspace) as address:
            for name, path in PAGES.items():
                page.goto(address + path)
                if name == "dashboard-user":
                    page.locator("tbody th a").first.click()
                page.wait_for_selector(
                    "[data-follow] .working", state="detached", timeout=1e3 * _PATIENCE_S
                )
                page.wait_for_selector("main .tile, main table", timeout=1e3 * _PATIENCE_S)
                _shoot(page, name)
            page.goto(f"{address}/ask")
            page.locator("main a[href^='/ask?']").first.click()
            _shoot(page, "dashboard-ask")
        browser.close()


def _page(browser: Browser) -> Page:
    return browser.new_context(
        viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light"
    ).new_page()


def _shoot(page: Page, name: str) -> None:
    if page.url.startswith("http"):
        page.wait_for_selector("html[data-ready=yes]", state="attached")
    page.wait_for_timeout(800)
    page.screenshot(path=str(IMAGES / f"{name}.png"))
    print(IMAGES / f"{name}.png")


@contextmanager
def _served(workspace: Path) -> Iterator[str]:
    """Run the service and return its address; it ends with the block."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROPHASE, "serve", "start", workspace, "--port", "0", "--open"],
            stderr=said,
        )
        try:
            until = time.monotonic() + _PATIENCE_S
            found = None
            while found is None and time.monotonic() < until and process.poll() is None:
                said.seek(0)
                found = re.search(r"http://127\.0\.0\.1:\d+(?=/)", said.read())
                time.sleep(0.1)
            if found is None:
                raise SystemExit("the service did not start.")
            yield found[0]
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
