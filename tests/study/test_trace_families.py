from __future__ import annotations

from pathlib import Path

import pytest

from prophase.study.pipeline import run_study
from prophase.study.plan import StudyPlan


@pytest.mark.data
@pytest.mark.parametrize(
    ("family", "lacks"),
    [
        (
            "hydra/20_ddl.csv",
            {"sizing": "memory_peak_gib", "predictions": "duration_s", "next": "measured"},
        ),
        ("zeus-dl", {"sizing": "job table", "schedules": "job table", "phases": "usage table"}),
        ("wfinstances/tasks.csv.gz", {"proof": "ask for today"}),
    ],
)
def test_a_family_ends_with_a_report_that_names_what_it_lacks(
    shared_data: Path, tmp_path: Path, family: str, lacks: dict[str, str]
) -> None:
    steps = ("lint", "sizing", *lacks) if family.startswith("wf") else ()
    plan = StudyPlan(str(shared_data / family), most_jobs=500, seeds=2, splits=3, steps=steps)
    found = run_study(plan, out=tmp_path / "ws")
    for step, missing in lacks.items():
        assert missing in found.cannot[step], (step, found.cannot[step])
    assert "What could not be done" in [one.title for one in found.report.all_sections()]
