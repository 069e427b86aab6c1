from __future__ import annotations

from typing import Any

from prophase.result import Chart, Section, Table
from prophase.study.study_findings import for_first_reader


def one(key: str, rows: list[dict[str, Any]], charts: list[Chart] | None = None) -> Section:
    return Section.told(key, key, ["Text."], [Table(key, rows, "Rows")], charts or [])


def test_findings_come_in_the_order_of_questions_and_tables_behind_figures_fold() -> None:
    used = [{"resource": "CPU", "used_pct": 40.0}, {"resource": "GPU", "used_pct": 9.0}]
    chart = Chart("waste", "Used", "bars", used, x="resource", y=["used_pct"])
    sound = one("lint", [{"severity": "error", "check": "x"}])
    told = for_first_reader([sound, one("other", [{"a": 1}]), one("waste", used, [chart])], {})
    assert [section.key for section in told] == [
        "waste", "lint", "other",
    ]  # fmt: skip
    assert [section.tables[0].folded for section in told] == [True, False, False]
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
    (told,) = for_first_reader([one("change", rows)], {"sizing": sized, "proof": proof})
    assert [row["task"] for row in told.charts[0].rows] == ["gangs", "small"]
    assert told.charts[0].unit == "GiB per run"
    assert "2 of 3 tasks" in told.texts[0]
    assert "100 GiB h less" in told.texts[0]


def test_waits_are_drawn_in_the_unit_in_which_the_mean_is_told() -> None:
    rows = [
        {"of": "all jobs", "today": 1800.0, "advised": 600.0},
        {"of": "short, high GPU", "today": 9000.0, "advised": None},
    ]
    chart = Chart("waits", "Waits", "bars", rows, x="of", y=["today", "advised"], unit="s")
    (told,) = for_first_reader([one("waits", rows, [chart])], {})
    drawn = told.charts[0]
    assert drawn.unit == "mean wait, min"
    assert [row["today"] for row in drawn.rows] == [30.0, 150.0]
    assert "Short: under an hour" in drawn.caption
