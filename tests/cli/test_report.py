from __future__ import annotations

import json

import pytest

from prophase.plots.result_files import write_report
from prophase.result import Fact, Provenance, Result
from prophase.stats import Estimate


@pytest.fixture
def workspace(tmp_path):
    report = Result(
        "order",
        "Which order?",
        question="Does another order shorten waits?",
        answer="Yes.",
        facts=[Fact("saved", "saved", Estimate(61.0, 48.0, 70.0), "%")],
        provenance=Provenance("prophase simulate ws"),
    )
    write_report(report, tmp_path / "ws" / "reports" / "order")
    return tmp_path / "ws"


def test_reports_are_listed_and_shown_in_every_format(prophase_here, workspace):
    assert "Which order?" in prophase_here("report", "ws").stdout
    shown = prophase_here("report", "ws", "order").stdout
    assert "61 % (48 to 70)" in shown
    assert "Made by: prophase simulate ws" in shown
    assert prophase_here("report", "ws", "order", "-f", "html").stdout.startswith("<!DOCTYPE")
    assert "# Which order?" in prophase_here("report", "ws", "order", "-f", "markdown").stdout
    document = json.loads(prophase_here("report", "ws", "order", "-f", "json").stdout)
    assert document["format"] == "prophase-report"


def test_a_report_can_be_written_anew_from_its_data(prophase_here, workspace, tmp_path):
    done = prophase_here("report", "ws/reports/order/report.json", "--out", "again")
    assert done.returncode == 0, done.stderr
    before = (workspace / "reports" / "order" / "report.html").read_text()
    assert (tmp_path / "again" / "report.html").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ws", "ordre"), "Did you mean 'order'"),
        (("ws", "--out", "x"), "name it"),
        (("nothing", "order"), "is no workspace"),
        (("nothing.json",), "there is no such file"),
    ],
)
def test_what_is_asked_wrongly_is_explained(prophase_here, workspace, arguments, message):
    done = prophase_here("report", *arguments)
    assert done.returncode != 0
    assert message in done.stderr


def test_a_workspace_without_reports_says_what_to_do(prophase_here, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "No reports yet. Next: prophase study empty" in prophase_here("report", "empty").stdout


def test_a_folder_of_results_is_drawn_anew_by_one_command(prophase_here, tmp_path):
    from prophase.plots.result_files import write_report

    page = write_report(
        Result("sizing", "Sizing", question="How much?"), tmp_path / "results" / "one"
    )
    page.unlink()
    done = prophase_here("report", tmp_path / "results", "--redraw")
    assert done.returncode == 0, done.stderr
    assert "1 result written again" in done.stdout
    assert page.exists()
    empty = prophase_here("report", tmp_path / "results" / "one" / "figures", "--redraw")
    assert empty.returncode != 0
    assert "no report.json" in empty.stderr
