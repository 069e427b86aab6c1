"""The page builder: self-contained, escaped, readable without network and script."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from prophase.errors import StorageError
from prophase.plots.result_files import page_html, write_page
from prophase.plots.style import COLOURS, draw
from prophase.result import (
    Answer,
    Bullets,
    Code,
    Fact,
    Note,
    Picture,
    Provenance,
    Result,
    Section,
    Table,
    Text,
    html,
    terminal,
)
from prophase.result.blocks import Block, Facts
from prophase.result.colours import css_name
from prophase.result.json_form import to_dict

EVIL = "<script>alert('x')</script> & \"quotes\""
VOID = {"meta", "img", "br", "hr", "link", "input"}


class _Checker(HTMLParser):
    """Collects tags and ids and refuses tags that are closed in the wrong order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(text: str) -> _Checker:
    checker = _Checker()
    checker.feed(text)
    assert checker.open == []
    return checker


@pytest.fixture
def figure() -> Picture:
    drawn = draw(lambda axes: axes.plot([1, 2], [3, 4], color=COLOURS[0]), title="Line")
    return Picture("line", drawn, "A line.")


@pytest.fixture
def page(figure: Picture) -> Result:
    blocks: list[Block] = [
        Text(EVIL),
        Bullets([EVIL]),
        Code(EVIL),
        Note(EVIL, "bad", EVIL),
        Facts([Fact(EVIL, EVIL, EVIL)]),
        Table(EVIL, [{EVIL: EVIL, "n": 1234.5}], EVIL),
        figure,
        figure,
    ]
    sections = [
        Section("lead", "", [Text("x")]),
        Section("one", "Same", blocks),
        Section("two", "Same", blocks),
    ]
    return Result(EVIL, EVIL, EVIL, sections=sections, provenance=Provenance(EVIL))


def one(*blocks: Block) -> Result:
    return Result("t", "t", sections=[Section("s", "s", blocks)])


def test_everything_put_into_a_page_is_escaped(page: Result) -> None:
    text = page_html(page)
    assert "<script" not in text
    assert "alert(&#x27;x&#x27;)" in text


def test_a_page_is_well_formed_and_its_ids_are_unique(page: Result) -> None:
    checker = checked(page_html(page))
    assert len(checker.ids) == len(set(checker.ids))
    assert "script" not in checker.seen
    assert checker.seen.count("svg") == 4


def test_a_page_asks_nothing_of_the_network(page: Result) -> None:
    text = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page_html(page))
    assert not re.search(r"https?://|@import|<link|src=\"(?!data:)", text)
    # every reference inside a figure leads to that figure
    targets = set(re.findall(r'id="([^"]+)"', text))
    for used in re.findall(r'(?:xlink:href|href)="#([^"]+)"|url\(#([^)]+)\)', text):
        assert (used[0] or used[1]) in targets


def test_figures_follow_the_dark_mode_of_the_page(page: Result) -> None:
    text = page_html(page)
    assert "prefers-color-scheme: dark" in text
    svg = text[text.index("<svg") : text.index("</svg>")]
    assert f"var({css_name(COLOURS[0])})" in svg
    assert "#0072b2" not in svg
    assert "#ffffff" not in svg


def test_a_page_is_the_same_bytes_every_time(page: Result) -> None:
    assert page_html(page) == page_html(page)


def test_a_bitmap_is_inlined(figure: Picture) -> None:
    text = page_html(one(Picture("line", figure.figure, "A line.", as_bitmap=True)))
    assert 'src="data:image/png;base64,' in text
    checked(text)


def test_a_long_table_folds_away() -> None:
    rows = [{"n": n} for n in range(100)]
    text = html.render(one(Table("many", rows, "Many")))
    assert "<summary>Many (100 rows)</summary>" in text


def test_columns_of_all_rows_are_shown_and_numbers_stand_right() -> None:
    text = html.render(one(Table("t", [{"a": 1}, {"b": "x"}])))
    assert '<th scope="col" class="n">a</th>' in text
    assert '<th scope="col">b</th>' in text


def test_numbers_keep_their_units_on_their_line() -> None:
    text = html.render(one(Text("it took 3 h or 12 % more, 3 hours")))
    assert "3\u00a0h or 12\u00a0% more, 3 hours" in text


def test_an_answer_leads_to_the_section_with_its_key_and_to_no_other() -> None:
    answers = [Answer("Where?", "here", section="s"), Answer("Why?", "unknown", section="gone")]
    told = Result("t", "t", answers=answers, sections=[Section("s", "Places", [Text("Here.")])])
    text = html.render(told)
    assert '<a href="#s-s">Where?</a>' in text
    assert "#s-gone" not in text


def test_without_a_drawer_a_chart_is_shown_by_its_numbers() -> None:
    from prophase.result import Chart

    rows = [{"order": "fifo", "wait_s": 60.0, "wait_s_low": 50.0, "wait_s_high": 70.0}]
    text = html.render(one(Chart("waits", "Waits", "bars", rows, x="order", y=["wait_s"])))
    assert "60 (50 to 70)" in text


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, page: Result) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        write_page(page, tmp_path / "file" / "page.html")
    (tmp_path / "file").unlink()
    target = tmp_path / "page.html"
    write_page(page, target)
    assert target.read_text(encoding="utf-8") == page_html(page)
    assert list(tmp_path.iterdir()) == [target]


def test_pictures_are_drawn_only_for_who_sees_them() -> None:
    drawn = []

    def pictures() -> list[Picture]:
        drawn.append(1)
        return [Picture("a", draw(lambda axes: axes.plot([1, 2])), "One.", section="s")]

    plain = Result("report", "Report", sections=[Section("s", "S", [Text("Words.")])])
    result = plain.illustrated(pictures)
    assert list(terminal.lines(result)) == list(terminal.lines(plain))
    assert to_dict(result) == to_dict(plain)
    assert not drawn
    assert "<svg" in page_html(result)
    assert len(drawn) == 1
