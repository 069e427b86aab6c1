import re
from pathlib import Path

import pytest

from prophase.errors import StorageError
from prophase.plots.charts import draw_chart
from prophase.plots.result_files import page_html, write_report
from prophase.result import Chart, Result, Section, Table
from prophase.result.json_form import read_result

ROWS = [
    {"n": 1, "what": "a <b>", "x": 1.0, "x_low": 0.5, "x_high": 2.0},
    {"n": 2, "what": "c|d", "x": None, "x_low": None, "x_high": None},
]


def a_report() -> Result:
    charts = [
        Chart(kind, kind, kind, ROWS, x="what" if kind in ("bars", "intervals") else "n", y=["x"])
        for kind in ("bars", "intervals", "lines", "points")
    ]
    table = Table("rows", ROWS, "Rows")
    section = Section.told("all", "All", ["Some *text*."], [table], charts)
    return Result("why", "Title <i>", question="Why?", sections=[section])


def test_page_markdown_json_and_figures_lie_beside_each_other(tmp_path: Path) -> None:
    page = write_report(a_report(), tmp_path / "out")
    text = page.read_text()
    assert "Title &lt;i&gt;" in text
    assert "<i>" not in text
    assert not re.search(r"(src|href)=\"http", text)
    assert "1 (0.5 to 2)" in text
    assert read_result(tmp_path / "out" / "report.json").question == "Why?"
    for kind in ("bars", "intervals", "lines", "points"):
        assert (tmp_path / "out" / "figures" / f"{kind}.png").stat().st_size > 1000
        assert (tmp_path / "out" / "figures" / f"{kind}.svg").exists()


def test_markdown_escapes_text_and_points_to_the_figures(tmp_path: Path) -> None:
    write_report(a_report(), tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "# Title \\<i\\>" in text
    assert "| c\\|d |" in text
    for target in re.findall(r"!\[[^]]*\]\(<([^>]+)>\)", text):
        assert (tmp_path / target).exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        write_report(a_report(), tmp_path / "file")


def test_a_chart_without_any_value_is_drawn_empty() -> None:
    rows = [{"what": "a", "x": None}]
    assert draw_chart(Chart("e", "Empty", "bars", rows, x="what", y=["x"])).axes


def test_numbers_of_a_chart_are_told_by_the_pointer_and_drawn_for_a_phone() -> None:
    rows = [{"order": "fifo <1>", "wait": 60.0, "wait_low": 50.0, "wait_high": 70.0}]
    chart = Chart("waits", "Waits", "bars", rows, x="order", y=["wait"], unit="s")
    page = page_html(Result("r", "R", sections=[Section("a", "A", [chart], "prophase why ws")]))
    assert page.count("<title>fifo &lt;1&gt;: 60 (50 to 70) s</title>") == 2
    assert '<div class="wide"><svg' in page
    assert '<div class="narrow"><svg' in page
    assert "<code>prophase why ws</code>" in page
