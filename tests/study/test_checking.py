from __future__ import annotations

from typing import Any

import pytest

from prophase.errors import ParameterError
from prophase.study.plan import StudyPlan, check_columns, check_plan


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"order": "fifi"}, "no order 'fifi'"),
        ({"place": "bestfit"}, "best_fit"),
        ({"queue": "skipp"}, "skip"),
        ({"methods": ("median",)}, "no method 'median'"),
        ({"targets": ("duration",)}, "duration_s"),
        ({"methods": ()}, "methods is empty"),
        ({"resource": "disk"}, "no resource 'disk'"),
        ({"seed": -1}, "seed is -1"),
        ({"test_share": 1.0}, "test_share is 1"),
        ({"risk": 0.0}, "risk is 0"),
        ({"keep": ("done",)}, "--keep done"),
        ({"workers": "many"}, "workers 'many'"),
    ],
)
def test_a_plan_that_no_step_could_follow_is_refused_at_once(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        check_plan(StudyPlan("ws", **settings))


def test_classes_and_kinds_are_columns_of_the_jobs() -> None:
    check_columns(StudyPlan("ws", by="user", kind=("user", "task")), ["user"])
    with pytest.raises(ParameterError, match=r"by names 'usr'.*Did you mean 'user'"):
        check_columns(StudyPlan("ws", by="usr"), ["user"])
    with pytest.raises(ParameterError, match="kind names 'colour'"):
        check_columns(StudyPlan("ws", kind=("colour",)), ["user"])
