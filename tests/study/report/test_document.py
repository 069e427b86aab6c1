import json
from pathlib import Path

import pytest

from prophase.errors import FormatError, ParameterError
from prophase.study.report.charts import Chart
from prophase.study.report.document import from_dict, read_report, to_dict
from prophase.study.report.parts import DataUsed, Measure, Reproduction, ResultTable, Step
from prophase.study.report.report import Finding, Report
from prophase.study.report.stored import stored_reports

ROWS = [
    {"order": "fifo", "wait_h": 12.0, "wait_h_low": 10.0, "wait_h_high": 15.0},
    {"order": "shortest", "wait_h": 4.0, "wait_h_low": 3.0, "wait_h_high": float("nan")},
]


def full_report() -> Report:
    return Report(
        title="Which order?",
        question="Does another order shorten waits?",
        answer="Yes, by two thirds.",
        verdict="good",
        facts=[Measure("saved", 66.7, "%", 60.0, 72.0)],
        data=[DataUsed("jobs", 12, "ab" * 32, "synthetic", {"no end": 2})],
        method=["Replayed twice."],
        findings=[
            Finding(
                "Waits",
                ["They fall."],
                [ResultTable(ROWS, "Waits, hours")],
                [Chart("waits", "Mean wait", "bars", ROWS, x="order", y=["wait_h"], unit="h")],
            )
        ],
        valid_for=["this cluster"],
        not_valid_for=["others"],
        limits=["One seed."],
        apply=[Step("Replay it.", "prophase simulate ws")],
        reproduce=Reproduction("prophase study", {"trace": 1}, {"order": "fifo"}),
    )


def test_a_report_survives_json() -> None:
    document = to_dict(full_report())
    again = from_dict(json.loads(json.dumps(document, allow_nan=False)))
    assert to_dict(again) == document
    assert again.facts[0].text() == "66.7 % (60 to 72)"


def test_what_is_not_finite_is_missing_in_json() -> None:
    rows = to_dict(full_report())["findings"][0]["tables"][0]["rows"]
    assert rows[1]["wait_h_high"] is None


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "is no report"),
        ([], "is no report"),
        ({"format": "prophase-report", "format_version": 99}, "report format 99"),
        ({"format": "prophase-report", "format_version": 1, "colour": "red"}, "is damaged"),
    ],
)
def test_what_is_no_report_is_refused_with_the_reason(document: object, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        from_dict(document)  # type: ignore[arg-type]


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("not json")
    with pytest.raises(FormatError, match=r"report\.json: is no JSON"):
        read_report(tmp_path / "report.json")


def test_a_chart_whose_column_no_row_has_is_refused() -> None:
    with pytest.raises(ParameterError, match="no row has jct_h"):
        Chart("x", "X", "bars", ROWS, x="order", y=["jct_h"])


def test_reports_of_a_workspace_are_found_and_damaged_ones_passed_over(tmp_path: Path) -> None:
    for name, text in (("good", json.dumps(to_dict(full_report()))), ("bad", "{")):
        (tmp_path / "reports" / name).mkdir(parents=True)
        (tmp_path / "reports" / name / "report.json").write_text(text)
    (found,) = stored_reports(tmp_path)
    assert (found.name, found.verdict) == ("good", "good")
