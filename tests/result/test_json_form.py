import json
from pathlib import Path

import pytest

from prophase.errors import FormatError, ParameterError
from prophase.result import (
    Answer,
    Chart,
    DataUsed,
    Fact,
    NextStep,
    Picture,
    Provenance,
    Result,
    Section,
    Table,
)
from prophase.result.json_form import from_dict, read_result, to_dict
from prophase.result.stored import stored_reports
from prophase.stats import Estimate

OLD = Path(__file__).with_name("report-version-1.json")
ROWS = [
    {"order": "fifo", "wait_h": 12.0, "wait_h_low": 10.0, "wait_h_high": 15.0},
    {"order": "shortest", "wait_h": 4.0, "wait_h_low": 3.0, "wait_h_high": float("nan")},
]


def full_report() -> Result:
    return Result(
        "order",
        title="Which order?",
        question="Does another order shorten waits?",
        answer="Yes, by two thirds.",
        tone="good",
        facts=[Fact("saved", "saved", Estimate(66.7, 60.0, 72.0, blocks=9), "%")],
        answers=[Answer("How long?", "4 h", section="waits")],
        data=[DataUsed("jobs", 12, "ab" * 32, "synthetic", {"no end": 2})],
        method=["Replayed twice."],
        sections=[
            Section.told(
                "waits",
                "Waits",
                ["They fall."],
                [Table("waits", ROWS, "Waits, hours")],
                [
                    Chart("waits", "Mean wait", "bars", ROWS, x="order", y=["wait_h"], unit="h"),
                    Picture("drawn", object()),
                ],
            )
        ],
        valid_for=["this cluster"],
        not_valid_for=["others"],
        limits=["One seed."],
        next_steps=[NextStep("Replay it.", "prophase simulate ws")],
        provenance=Provenance("prophase study", {"trace": 1}, {"order": "fifo"}),
    )


def test_a_report_survives_json() -> None:
    document = to_dict(full_report())
    again = from_dict(json.loads(json.dumps(document, allow_nan=False)))
    assert to_dict(again) == document
    assert again.facts[0].text() == "66.7 % (60 to 72)"


def test_a_report_of_the_first_version_is_read_with_all_its_parts() -> None:
    old = json.loads(OLD.read_text(encoding="utf-8"))
    facts, findings = list(old["facts"]), list(old["findings"])
    found = from_dict(json.loads(json.dumps(old)))
    assert found.tone == old["verdict"]
    assert [(fact.label, fact.unit) for fact in found.facts] == [
        (fact["name"], fact["unit"]) for fact in facts
    ]
    assert [section.title for section in found.all_sections()] == [one["title"] for one in findings]
    for section, finding in zip(found.all_sections(), findings, strict=True):
        assert section.texts == finding["text"]
        assert [table.rows for table in section.tables] == [
            table["rows"] for table in finding["tables"]
        ]
        assert [chart.key for chart in section.charts] == [one["name"] for one in finding["charts"]]
    keys = {section.key for section in found.all_sections()}
    assert {answer.section for answer in found.answers} <= keys


def test_what_is_not_finite_is_missing_in_json() -> None:
    table = from_dict(to_dict(full_report())).section("waits").tables[0]
    assert table.rows[1]["wait_h_high"] is None


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
        read_result(tmp_path / "report.json")


def test_a_chart_whose_column_no_row_has_is_refused() -> None:
    with pytest.raises(ParameterError, match="no row has jct_h"):
        Chart("x", "X", "bars", ROWS, x="order", y=["jct_h"])


def test_reports_of_a_workspace_are_found_and_damaged_ones_passed_over(tmp_path: Path) -> None:
    for name, text in (("good", json.dumps(to_dict(full_report()))), ("bad", "{")):
        (tmp_path / "reports" / name).mkdir(parents=True)
        (tmp_path / "reports" / name / "report.json").write_text(text)
    (found,) = stored_reports(tmp_path)
    assert (found.name, found.tone) == ("good", "good")


def test_what_stands_in_front_and_the_commands_survive_the_file() -> None:
    told = Result(
        "study",
        front=[Fact("history", "history", "May to June")],
        answers=[Answer("How much?", "3 %", command="prophase size ws")],
        sections=[Section("a", "A", [], "prophase why ws")],
    )
    read = from_dict(to_dict(told))
    assert (read.front, read.answers, read.sections) == (told.front, told.answers, told.sections)
