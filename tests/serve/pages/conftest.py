"""A workspace with everything that pages show, and Debian's Chromium to look at them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.made_demo import made_demo

from prophase.runs.campaign import Campaign
from prophase.runs.store.records import NewRun

#: the one without windows takes a third of the processor time
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
_QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking",
          "--disable-component-update", "--disable-sync", "--no-first-run")  # fmt: skip


@pytest.fixture(scope="session")
def rich_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the demo leaves behind, with a page of somebody else's and a campaign."""
    folder = made_demo(tmp_path_factory.mktemp("pages") / "ws")
    (folder / "reports" / "trace.html").write_text(
        "<!doctype html><style>h1{color:navy}</style><h1>Trace</h1>"
        "<script>document.title='ran'</script>",
        encoding="utf-8",
    )
    make_campaign(folder / "campaign")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium; tools/system-packages installs it")
    with sync_playwright() as playwright:
        expect.set_options(timeout=60_000)
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET))
        yield opened
        opened.close()


def make_campaign(folder: Path) -> None:
    """Make a campaign of a one-task pipeline with two registered runs."""
    folder.mkdir()
    pipeline = folder / "pipeline.yaml"
    pipeline.write_text(
        "name: small\nscenario: [region]\ntasks:\n  only: {command: 'true', memory: 128MiB}\n",
        encoding="utf-8",
    )
    campaign = Campaign.create(folder, pipeline)
    campaign.store.save_version("v1", pipeline=pipeline.read_text(encoding="utf-8"), code="")
    runs = [NewRun(name, {"region": name}, "v1", date(2024, 3, 4)) for name in ("north", "south")]
    campaign.store.register(runs, actor="test")
    campaign.close()
