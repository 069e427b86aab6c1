"""The page builder: self-contained, escaped, readable without network and script."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from prophase.errors import StorageError
from prophase.plots.page import (
    Bullets,
    Callout,
    Code,
    Facts,
    Page,
    Paragraph,
    Picture,
    Section,
    Table,
    render,
    write_page,
)
from prophase.plots.style import COLOURS, css_name, draw

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
    return Picture(drawn, "A line.")


@pytest.fixture
def page(figure: Picture) -> Page:
    blocks = [
        Paragraph(EVIL),
        Bullets([EVIL]),
        Code(EVIL),
        Callout(EVIL, "bad", EVIL),
        Facts([(EVIL, EVIL)]),
        Table([{EVIL: EVIL, "n": 1234.5}], EVIL),
        figure,
        figure,
    ]
    sections = [Section("Same", blocks), Section("Same", blocks), Section("<b>", [])]
    return Page(EVIL, sections, subtitle=EVIL, lead=[Paragraph("x")], about={"command": EVIL})


def test_everything_put_into_a_page_is_escaped(page: Page) -> None:
    text = render(page)
    assert "<script" not in text
    assert "alert(&#x27;x&#x27;)" in text


def test_a_page_is_well_formed_and_its_ids_are_unique(page: Page) -> None:
    checker = checked(render(page))
    assert len(checker.ids) == len(set(checker.ids))
    assert "script" not in checker.seen
    assert checker.seen.count("svg") == 4


def test_a_page_asks_nothing_of_the_network(page: Page) -> None:
    text = re.sub(r'xmlns(:\w+)?="[^"]*"', "", render(page))
    assert not re.search(r"https?://|@import|<link|src=\"(?!data:)", text)
    # every reference inside a figure leads to that figure
    targets = set(re.findall(r'id="([^"]+)"', text))
    for used in re.findall(r'(?:xlink:href|href)="#([^"]+)"|url\(#([^)]+)\)', text):
        assert (used[0] or used[1]) in targets


def test_figures_follow_the_dark_mode_of_the_page(page: Page) -> None:
    text = render(page)
    assert "prefers-color-scheme: dark" in text
    svg = text[text.index("<svg") : text.index("</svg>")]
    assert f"var({css_name(COLOURS[0])})" in svg
    assert "#0072b2" not in svg
    assert "#ffffff" not in svg


def test_a_page_is_the_same_bytes_every_time(page: Page) -> None:
    assert render(page) == render(page)


def test_a_bitmap_is_inlined(figure: Picture) -> None:
    bitmap = Picture(figure.figure, "A line.", as_bitmap=True)
    text = render(Page("t", [Section("s", [bitmap])]))
    assert 'src="data:image/png;base64,' in text
    checked(text)


def test_a_long_table_folds_away() -> None:
    rows = [{"n": n} for n in range(100)]
    text = render(Page("t", [Section("s", [Table(rows, "Many")])]))
    assert "<summary>Many (100 rows)</summary>" in text


def test_columns_of_all_rows_are_shown_and_numbers_stand_right() -> None:
    text = render(Page("t", [Section("s", [Table([{"a": 1}, {"b": "x"}])])]))
    assert '<th scope="col" class="n">a</th>' in text
    assert '<th scope="col">b</th>' in text


def test_numbers_keep_their_units_on_their_line() -> None:
    text = render(Page("t", [Section("s", [Paragraph("it took 3 h or 12 % more, 3 hours")])]))
    assert "3\u00a0h or 12\u00a0% more, 3 hours" in text


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, page: Page) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        write_page(page, tmp_path / "nowhere" / "page.html")
    target = tmp_path / "page.html"
    write_page(page, target)
    assert target.read_text(encoding="utf-8") == render(page)
    assert list(tmp_path.iterdir()) == [target]
