from __future__ import annotations

from typing import Any

from prophase.study.report.charts import Chart
from prophase.study.report.parts import ResultTable
from prophase.study.report.report import Finding
from prophase.study.study_findings import retold


def one(title: str, rows: list[dict[str, Any]], charts: list[Chart] | None = None) -> Finding:
    return Finding(title, ["Text."], [ResultTable(rows, "Rows")], charts or [])


def test_findings_come_in_the_order_of_questions_and_tables_behind_figures_fold() -> None:
    used = [{"resource": "CPU", "used_pct": 40.0}, {"resource": "GPU", "used_pct": 9.0}]
    chart = Chart("waste", "Used", "bars", used, x="resource", y=["used_pct"])
    sound = one("Is the trace sound?", [{"severity": "error", "check": "x"}])
    told = retold([sound, one("Other", [{"a": 1}]), one("Where the waste is", used, [chart])], {})
    assert [finding.title for finding in told] == [
        "Where the waste is", "Is the trace sound?", "Other",
    ]  # fmt: skip
    assert [finding.tables[0].folded for finding in told] == [True, False, False]
    assert [row["resource"] for row in told[0].charts[0].rows] == ["GPU", "CPU"]


def test_advice_is_drawn_for_the_tasks_that_save_most_on_the_history() -> None:
    rows = [
        {
            "task": "RUN:A:small",
            "runs": 20,
            "now": 4.0,
            "advice": 1.0,
            "saving_pct": 75.0,
            "why": "-",
        },
        {
            "task": "RUN:B:gangs",
            "runs": 20,
            "now": 8.0,
            "advice": 2.0,
            "saving_pct": 75.0,
            "why": "-",
        },
        {"task": "kept", "runs": 2, "now": 8.0, "advice": 8.0, "saving_pct": 0.0, "why": "-"},
    ]
    proof = {
        "tasks": [
            {"task": "RUN:B:gangs", "saved_h": 90.0},
            {"task": "RUN:A:small", "saved_h": 10.0},
        ],
        "totals": [{"difference": -100.0, "unit": "GiB h"}],
    }
    sized = {"advised": 2, "tasks": 3, "unit": "GiB"}
    (told,) = retold([one("What to change", rows)], {"sizing": sized, "proof": proof})
    assert [row["task"] for row in told.charts[0].rows] == ["gangs", "small"]
    assert told.charts[0].unit == "GiB per run"
    assert "2 of 3 tasks" in told.text[0]
    assert "100 GiB h less" in told.text[0]


def test_waits_are_drawn_in_the_unit_in_which_the_mean_is_told() -> None:
    rows = [
        {"of": "all jobs", "today": 1800.0, "advised": 600.0},
        {"of": "short, high GPU", "today": 9000.0, "advised": None},
    ]
    chart = Chart("waits", "Waits", "bars", rows, x="of", y=["today", "advised"], unit="s")
    (told,) = retold([one("What it does to waiting times", rows, [chart])], {})
    drawn = told.charts[0]
    assert drawn.unit == "mean wait, min"
    assert [row["today"] for row in drawn.rows] == [30.0, 150.0]
    assert "Short: under an hour" in drawn.caption
