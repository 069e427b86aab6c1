"""The whole loop: from a trace to a proven advice and its report, step by step."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.loop.plan import StudyPlan, read_plan
    from prophase.study.loop.running import StudyResult, run_study
    from prophase.study.loop.steps import STEPS

_HOMES = {
    "STEPS": "steps",
    "StudyPlan": "plan",
    "StudyResult": "running",
    "read_plan": "plan",
    "run_study": "running",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["STEPS", "StudyPlan", "StudyResult", "read_plan", "run_study"]
