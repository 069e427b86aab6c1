"""Make the pictures of README and documentation from a demo: report and dashboard as they are.

    python tools/make_pictures.py WORKSPACE            those of docs/images
    python tools/make_pictures.py WORKSPACE --look TO  every page into the folder TO, to look at:
                                                       light, dark, desktop, phone, printed

WORKSPACE is one of prophase demo. Needs Chromium, Playwright and Pillow (the extra of the tests).
Look at what it wrote before you commit it.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = shutil.which("chromium-headless-shell") or "/usr/bin/chromium"
_PROPHASE = "from prophase.cli.main import run; run()"
#: picture of README and guides -> page
PICTURES = {
    "report": "report",
    "dashboard-overview": "overview",
    "dashboard-sizing": "task",
    "dashboard-user": "user",
    "dashboard-ask": "answer",
}
#: page -> its address, and the link on it that is followed
PAGES = {
    "overview": ("/", ""),
    "ask": ("/ask", ""),
    "answer": ("/ask", "main a[href^='/ask?']"),
    "queue": ("/queue", ""),
    "jobs": ("/jobs", ""),
    "users": ("/users", ""),
    "user": ("/users", "tbody th a"),
    "tenants": ("/tenants", ""),
    "profiles": ("/profiles", ""),
    "profile": ("/profiles", "main a[href^='/profiles/']"),
    "sizing": ("/sizing?resource=gpu", ""),
    "task": ("/sizing?resource=gpu", "tbody th a"),
    "simulator": ("/simulator", ""),
    "phases": ("/phases", ""),
    "series": ("/phases", "tbody th a[href*='series']"),
    "runs": ("/runs", ""),
    "runs-table": ("/runs/all", ""),
    "run": ("/runs/all", "tbody th a"),
    "allocations": ("/runs/allocations", ""),
    "reports": ("/reports", ""),
    "health": ("/health", ""),
}
_PATIENCE_S = 300.0


@dataclass(frozen=True)
class Look:
    """How a page is looked at."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"
    printed: bool = False


DESKTOP = Look("desktop", 1280, 900)
PHONE = Look("phone", 400, 800)
LOOKS = (
    DESKTOP,
    PHONE,
    Look("desktop-dark", 1280, 900, "dark"),
    Look("phone-dark", 400, 800, "dark"),
    Look("printed", 800, 1100, "dark", printed=True),
)
#: pictures of the documentation are cut below this, in screens
_SCREENS = 1.7


def main(workspace: Path, folder: Path | None) -> None:
    """Write every picture: those of the documentation, or all of them into a folder."""
    if not (workspace / "campaign").exists():
        # pages of runs want some
        sys.path.insert(0, str(ROOT))
        from tests.serve.pages.conftest import make_campaign

        make_campaign(workspace / "campaign")
    with sync_playwright() as playwright, _served(workspace) as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found: dict[str, str] = {}
        for look in LOOKS if folder else (DESKTOP, PHONE):
            page = _page(browser, look)
            for name in ("report", *PAGES):
                _open(page, name, workspace, address, found)
                if folder:
                    _keep(page, look, folder / f"{name}-{look.name}", whole=True)
                else:
                    _keep(page, look, IMAGES / "pages" / f"{name}-{look.name}", whole=False)
                    for picture in (key for key, of in PICTURES.items() if of == name):
                        if look is DESKTOP:
                            page.screenshot(path=str(IMAGES / f"{picture}.png"))
            page.context.close()
        browser.close()


def _open(page: Page, name: str, workspace: Path, address: str, found: dict[str, str]) -> None:
    """Open a page and wait until it is drawn; links are followed once and remembered."""
    if name == "report":
        page.goto((workspace / "report.html").resolve().as_uri())
        return
    path, link = PAGES[name]
    page.goto(found.get(name, address + path))
    _drawn(page)
    if link and name not in found:
        page.locator(link).first.click()
        page.wait_for_load_state()
        _drawn(page)
    found[name] = page.url


def _drawn(page: Page) -> None:
    page.wait_for_selector("[data-follow] .working", state="detached", timeout=1e3 * _PATIENCE_S)
    page.wait_for_selector("html[data-ready=yes]", state="attached")
    page.wait_for_timeout(300)


def _page(browser: Browser, look: Look) -> Page:
    page = browser.new_context(
        viewport={"width": look.width, "height": look.height}, color_scheme=look.scheme
    ).new_page()
    if look.printed:
        page.emulate_media(media="print", color_scheme=look.scheme)
    return page


def _keep(page: Page, look: Look, target: Path, *, whole: bool) -> None:
    """Write a picture as WebP, and say if the page is wider than the screen."""
    target.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True)))
    most = picture.height if whole else min(picture.height, int(_SCREENS * look.height))
    file = target.with_suffix(".webp")
    picture.crop((0, 0, picture.width, min(most, 16_000))).save(file, quality=70, method=6)
    over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    print(file, f"{over} px too wide" if over > 0 else "")


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
    if len(sys.argv) not in (2, 4) or (len(sys.argv) == 4 and sys.argv[2] != "--look"):
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[3]) if len(sys.argv) == 4 else None)
