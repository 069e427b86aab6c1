"""The dashboard in a real browser: every page, every form, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.serve.pages.axe import axe_findings
from tests.serve.pages.service import serving

from prophase.runs.campaign import Campaign
from prophase.runs.states import RunState

#: patience for what a busy machine computes, in ms
_LONG = 400_000
_ACCESSIBLE = (Path(__file__).parent / "accessible.js").read_text(encoding="utf-8")
#: address -> words that only a page with data has
PAGES = {
    "/": "How full the cluster was",
    "/ask": "finished jobs",
    "/ask?user=user-1&request_gpus=1": "Of such jobs half end within",
    "/profiles": "What each kind of job uses",
    "/profiles/0": "What its jobs use",
    "/sizing?least=0": "Saved a month",
    "/simulator": "What jobs wait for",
    "/phases": "What follows what",
    "/runs": "Registered",
    "/runs/1": "The scenario",
    "/reports": "a recommendation put to the proof",
    "/health": "All is well.",
}


@pytest.fixture(scope="module")
def address(rich_workspace: Path) -> Iterator[str]:
    with serving(rich_workspace) as found:
        yield found


class Watched:
    """A page, and what it complained about or asked of other machines."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        page.set_default_timeout(30_000)
        page.on("console", lambda said: self._heard(said.type, said.text, said.location["url"]))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def _heard(self, kind: str, text: str, where: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(f"{text} ({where})")

    def _asked(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "about:")):
            self.elsewhere.append(url)

    def open(self, path: str) -> Page:
        """Open a page and wait until all it shows is computed."""
        answer = self.page.goto(self.address + path)
        assert answer is not None
        assert answer.status == 200, self.page.inner_text("body")
        expect(self.page.locator("progress")).to_have_count(0, timeout=_LONG)
        return self.page


def barriers(page: Page) -> list[str]:
    """Return what keeps people from using a page, once its charts are drawn; axe-core helps."""
    page.wait_for_selector("html[data-ready]")
    found: list[str] = page.evaluate(_ACCESSIBLE)
    return found + axe_findings(page)


@pytest.fixture
def watched(browser: Browser, address: str) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    found = Watched(context.new_page(), address)
    yield found
    context.close()
    assert found.complaints == []
    assert found.elsewhere == []


@pytest.mark.parametrize("path", PAGES)
def test_every_page_shows_real_data_to_everybody(watched: Watched, path: str) -> None:
    page = watched.open(path)
    expect(page.locator("main")).to_contain_text(PAGES[path], timeout=_LONG)
    assert barriers(page) == []
    page.emulate_media(color_scheme="dark")
    assert barriers(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("path", ["/jobs", "/users", "/tenants", "/queue", "/login"])
def test_axe_finds_nothing_on_pages_of_people_and_queues(watched: Watched, path: str) -> None:
    page = watched.open(path)
    assert barriers(page) == []
    page.emulate_media(color_scheme="dark")
    assert barriers(page) == []


def test_one_series_shows_its_phases_and_allocation_curves(watched: Watched) -> None:
    page = watched.open("/phases")
    table = page.get_by_role("region", name="Series")
    table.get_by_role("rowheader").get_by_role("link").first.click()
    expect(page.get_by_text("Use and phases")).to_be_visible(timeout=_LONG)
    expect(page.locator("svg .phase").first).to_be_attached()
    expect(page.get_by_role("rowheader", name="oracle")).to_be_visible()
    assert barriers(page) == []


def test_a_newcomer_understands_the_overview_asks_about_a_job_and_sees_why(
    watched: Watched,
) -> None:
    page = watched.open("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    for words in ("Jobs", "Cluster", "GPU time used", "Memory used at peak", "Predictions"):
        expect(page.locator("dl.tiles dt", has_text=words).first).to_be_visible()
    # two days of history give no interval, and the page says so
    expect(page.locator("dl.tiles")).to_contain_text("too short to say: 2 days")
    page.get_by_role("link", name="Ask about a job").click()
    # with nothing known of the cluster, a recent job is one click away
    page.locator("main .actions a.button").first.click()
    answer = page.get_by_role("region", name="The answer")
    expect(answer).to_contain_text("Nine of ten such jobs lie between")
    expect(answer).to_contain_text("Why:")
    expect(page.get_by_role("heading", name="Everything that was predicted")).to_be_visible()
    assert barriers(page) == []
    # what the cluster as a whole should do is in the report that the demo wrote
    page.get_by_role("link", name="Reports").click()
    # the demo's page lies in two places and is listed once
    expect(page.get_by_role("region", name="Reports").locator("tbody tr")).to_have_count(2)
    page.get_by_role("link", name="a recommendation put to the proof").click()
    expect(page.get_by_role("link", name="Where is the waste?")).to_be_visible()
    expect(page.locator("figure svg").first).to_be_visible()


def test_the_form_answers_what_was_typed_and_keeps_it(watched: Watched) -> None:
    page = watched.open("/ask")
    page.get_by_label("User").fill("user-1")
    page.get_by_label("Memory asked for").fill("16Gi")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="The answer", exact=True)).to_be_visible()
    expect(page.get_by_label("Memory asked for")).to_have_value("16Gi")
    expect(page.get_by_role("row", name="Memory asked for").first).to_contain_text("16\xa0GiB")


def test_a_wrong_number_is_told_in_words_and_can_be_corrected(watched: Watched) -> None:
    page = watched.page
    answer = page.goto(f"{watched.address}/ask?request_gpus=many")
    assert answer is not None
    assert answer.status == 422
    expect(page.get_by_role("alert")).to_contain_text("many")
    expect(page.get_by_label("GPUs asked for")).to_have_value("many")
    # the browser itself tells of the status
    watched.complaints.clear()


def test_a_pasted_script_is_answered(watched: Watched) -> None:
    page = watched.open("/ask")
    page.get_by_label("YAML, JSON").fill("#!/bin/sh\n#SBATCH --mem=32G --gres=gpu:1\nsrun train")
    page.get_by_role("button", name="Ask about this file").click()
    expect(page.get_by_role("heading", name="The answer", exact=True)).to_be_visible()
    expect(page.get_by_label("Memory asked for")).to_have_value("32.0")


def test_tasks_are_sorted_by_any_column_and_one_shows_its_ladder(watched: Watched) -> None:
    page = watched.open("/sizing?least=0")
    head = page.get_by_role("columnheader", name="Runs")
    head.get_by_role("link").click()
    expect(page.get_by_role("columnheader", name="Runs")).to_have_attribute(
        "aria-sort", "descending"
    )
    runs = (
        page.get_by_role("region", name="Tasks").locator("tbody td:nth-child(2)").all_inner_texts()
    )
    numbers = [int(text.replace(",", "")) for text in runs]
    assert numbers == sorted(numbers, reverse=True)
    page.get_by_role("region", name="Tasks").get_by_role("link").nth(7).click()
    expect(page.get_by_role("heading", name="The ladder")).to_be_visible()
    expect(page.locator("svg .point").nth(5)).to_be_attached()
    assert barriers(page) == []


def test_the_theme_is_chosen_once_for_all_pages(watched: Watched) -> None:
    page = watched.open("/ask")
    colour = "getComputedStyle(document.body.parentElement).backgroundColor"
    before = page.evaluate(colour)
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(colour) != before
    watched.open("/reports")
    assert page.evaluate(colour) != before
    expect(page.get_by_role("button", name="Dark theme")).to_have_attribute("aria-pressed", "true")


def test_the_keyboard_alone_gets_past_the_menu(watched: Watched) -> None:
    page = watched.open("/reports")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_the_board_moves_when_a_run_does(watched: Watched, rich_workspace: Path) -> None:
    page = watched.open("/runs")
    lane = page.locator(".lane", has_text="Failed")
    before = int(lane.locator(".badge").inner_text())
    campaign = Campaign(rich_workspace / "campaign")
    claim = campaign.store.claim_one(2, "test")
    assert claim is not None
    campaign.store.advance(claim, "trigger failed", reason="no room")
    campaign.close()
    expect(lane.locator(".badge")).to_have_text(str(before + 1))
    lane.get_by_role("link", name="south").click()
    page.get_by_label("Why is it reset?").fill("more room now")
    page.get_by_role("button", name="Reset to 0").click()
    expect(page.locator(".head .badge")).to_have_text(f"registered ({int(RunState.REGISTERED)})")
    expect(page.get_by_role("cell", name="more room now")).to_be_visible()


def test_a_what_if_shows_its_progress_and_its_answer(watched: Watched) -> None:
    page = watched.page
    page.goto(f"{watched.address}/simulator#whatif")
    page.get_by_label("Jobs per day").fill("1.5")
    page.get_by_label("Resampled traces").fill("2")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What if")
    table = page.get_by_role("region", name="Scenarios")
    expect(table).to_contain_text("as today", timeout=_LONG)
    expect(table).to_contain_text("load x 1.5")
    expect(page.locator("#announcer")).to_contain_text("done")
    assert barriers(page) == []


def test_long_work_can_be_cancelled(watched: Watched) -> None:
    page = watched.page
    page.goto(f"{watched.address}/simulator#whatif")
    page.get_by_label("Resampled traces").fill("200")
    # two days have enough blocks of six hours to draw from
    page.get_by_label("Hours of a block").fill("6")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The work was cancelled")).to_be_visible()


def test_a_what_if_that_asks_nothing_is_told_so(watched: Watched) -> None:
    page = watched.page
    page.goto(f"{watched.address}/simulator#whatif")
    page.get_by_label("shortest first").uncheck()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("nothing to compare with today")).to_be_visible()
    watched.complaints.clear()


def test_a_report_opens_with_its_styles_and_runs_nothing(watched: Watched) -> None:
    page = watched.open("/reports")
    page.get_by_role("link", name="trace").click()
    expect(page.get_by_role("heading", name="Trace")).to_have_css("color", "rgb(0, 0, 128)")
    assert page.title() != "ran"
    # the policy that stopped the script says so
    assert all("script" in said for said in watched.complaints)
    watched.complaints.clear()


def test_the_icon_is_also_where_browsers_ask_first(watched: Watched) -> None:
    answer = watched.page.goto(f"{watched.address}/favicon.ico")
    assert answer is not None
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("image/svg+xml")
