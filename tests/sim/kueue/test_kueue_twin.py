"""Kueue's queues run forward: quotas, borrowing, order, and who is stopped for whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.sim.kueue.kueue_objects import (
    GPU,
    NOW_S,
    cluster_queue,
    local_queue,
    workload,
)

from prophase.errors import FormatError, ParameterError
from prophase.sim.kueue.kueue_twin import KueueTwin
from prophase.sim.kueue.quotas import ClusterQueue, QuotaTree
from prophase.sim.kueue.snapshot import KueueSnapshot

CELL = ("a100", GPU)


def twin(queues: list[Any], works: list[Any], **more: Any) -> KueueTwin:
    local = [local_queue(one["metadata"]["name"], one["metadata"]["name"]) for one in queues]
    held = {"clusterqueues": queues, "localqueues": local, "workloads": works, **more}
    return KueueTwin(KueueSnapshot.of(held, NOW_S))


def starts(found: KueueTwin, **left_s: float) -> dict[str, float]:
    """Return the starts by name, if each runs for so much longer."""
    left = np.array([left_s[name] for name in found.jobs["name"]])
    told = found.starts(left)
    return {key.removeprefix("ml/job-"): value for key, value in told.items()}


def test_a_workload_starts_when_quota_is_given_back() -> None:
    found = twin(
        [cluster_queue("q", 8)],
        [
            workload("a", "q", 6, created=-90, began=-60, cluster="q"),
            workload("b", "q", 4, created=-50),
            workload("c", "q", 2, created=-40),
        ],
    )
    assert starts(found, a=100, b=50, c=10) == {"b": 100, "c": 0}


def test_a_strict_queue_waits_for_its_first() -> None:
    works = [
        workload("a", "q", 6, created=-90, began=-60, cluster="q"),
        workload("b", "q", 4, created=-50),
        workload("c", "q", 2, created=-40),
    ]
    found = twin([cluster_queue("q", 8, queueingStrategy="StrictFIFO")], works)
    assert starts(found, a=100, b=50, c=10) == {"b": 100, "c": 100}


@pytest.mark.parametrize(
    ("rules", "start_s"),
    [
        ({"queueingStrategy": "StrictFIFO"}, 200),
        ({"queueingStrategy": "BestEffortFIFO"}, 0),
        ({"queueingStrategy": "StrictFIFO", "preemption": {"reclaimWithinCohort": "Any"}}, 0),
    ],
)
def test_nobody_borrows_past_the_first_of_a_strict_queue(
    rules: dict[str, Any], start_s: float
) -> None:
    queues = [cluster_queue("red", 4, cohort="ml", **rules), cluster_queue("blue", 4, cohort="ml")]
    works = [
        workload("a", "red", 2, created=-90, began=-60, cluster="red"),
        workload("b", "blue", 3, created=-90, began=-60, cluster="blue"),
        workload("first", "red", 4, created=-50),
        workload("borrower", "blue", 2, created=-40),
    ]
    found = starts(twin(queues, works), a=100, b=200, first=500, borrower=10)
    assert found == {"first": 100, "borrower": start_s}


def test_what_can_never_be_admitted_holds_up_a_strict_queue() -> None:
    works = [workload("huge", "q", 80, created=-9), workload("small", "q", 1, created=-8)]
    found = twin([cluster_queue("q", 8, queueingStrategy="StrictFIFO")], works)
    assert np.isnan(list(starts(found, huge=9, small=9).values())).all()
    assert found.why("small")[0]["remark"] == "its quota is free: it waits for its turn"
    assert "could ever hold" in str(found.why("huge")[0]["remark"])
    assert "hold up others" in found.snapshot.notes[0]


def test_priority_comes_before_age() -> None:
    works = [
        workload("a", "q", 8, created=-90, began=-60, cluster="q"),
        workload("old", "q", 8, created=-50),
        workload("urgent", "q", 8, created=-10, priority=5),
    ]
    found = twin([cluster_queue("q", 8)], works)
    assert starts(found, a=100, old=50, urgent=10) == {"urgent": 100, "old": 110}


def test_unused_quota_is_borrowed_up_to_the_limits() -> None:
    red, blue = (ClusterQueue.of(one) for one in (
        cluster_queue("red", 4, cohort="ml", limits={"borrowingLimit": "3"}),
        cluster_queue("blue", 4, cohort="ml", limits={"lendingLimit": "2"}),
    ))  # fmt: skip
    tree = QuotaTree([red, blue])
    assert tree.free("red", CELL) == 6
    assert tree.free("blue", CELL) == 8
    tree.use("blue", {CELL: 3})
    # two of the four are never lent, so one of those that are is used
    assert tree.free("red", CELL) == 5
    tree.use("red", {CELL: 5})
    assert tree.free("blue", CELL) == 0
    assert tree.borrows("red", {}) is False
    assert tree.borrows("red", {CELL: 0.0})
    tree.use("red", {CELL: 5}, -1.0)
    tree.use("blue", {CELL: 3}, -1.0)
    assert tree.free("red", CELL) == 6
    assert tree.free("blue", CELL) == 8


def test_cohorts_have_parents_and_quotas_of_their_own() -> None:
    parts = [ClusterQueue.of(cluster_queue(name, 2, cohort=name)) for name in ("east", "west")]
    own = cluster_queue("top", 5)["spec"]["resourceGroups"]
    cohorts = [
        {"metadata": {"name": name}, "spec": {"parentName": "top"}} for name in ("east", "west")
    ] + [{"metadata": {"name": "top"}, "spec": {"resourceGroups": own}}]
    tree = QuotaTree(parts, cohorts)
    assert tree.free("east", CELL) == tree.most("east", CELL) == 9
    with pytest.raises(FormatError, match="its own parent"):
        QuotaTree(parts, [{"metadata": {"name": "east"}, "spec": {"parentName": "east"}}])


@pytest.mark.parametrize(("reclaim", "start"), [("Never", 100), ("Any", 0)])
def test_lent_quota_is_taken_back_where_the_queue_says_so(reclaim: str, start: float) -> None:
    queues = [
        cluster_queue("red", 4, cohort="ml"),
        cluster_queue("blue", 4, cohort="ml", preemption={"reclaimWithinCohort": reclaim}),
    ]
    works = [
        workload("a", "red", 4, created=-90, began=-60, cluster="red"),
        workload("b", "red", 4, created=-80, began=-50, cluster="red"),
        workload("mine", "blue", 4, created=-10),
    ]
    assert starts(twin(queues, works), a=100, b=100, mine=10) == {"mine": start}


def test_low_priority_is_stopped_within_a_queue_that_says_so() -> None:
    rules = {"withinClusterQueue": "LowerPriority"}
    works = [
        workload("low", "q", 8, created=-90, began=-60, cluster="q"),
        workload("same", "q", 8, created=-50),
        workload("high", "q", 8, created=-10, priority=3),
    ]
    found = twin([cluster_queue("q", 8, preemption=rules)], works)
    # low begins anew after high: 60 s that it has run and 100 that it had left
    assert starts(found, low=100, same=5, high=10) == {"high": 0, "same": 170}


def test_flavors_that_pods_cannot_use_are_passed_over() -> None:
    queue = cluster_queue("q", 8)
    group = queue["spec"]["resourceGroups"][0]
    group["flavors"].append({"name": "spot", "resources": [{"name": GPU, "nominalQuota": "8"}]})
    taint = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
    flavors = [
        {"metadata": {"name": "a100"}, "spec": {"nodeLabels": {"gpu": "a100"}}},
        {"metadata": {"name": "spot"}, "spec": {"nodeTaints": [taint]}},
    ]
    works = [
        workload("a", "q", 8, created=-90, began=-60, cluster="q"),
        workload("b", "q", 4, created=-50),
        workload("c", "q", 4, created=-40),
    ]
    works[2]["spec"]["podSets"][0]["template"]["spec"]["tolerations"] = [
        {"key": "spot", "operator": "Exists"}
    ]
    found = twin([queue], works, resourceflavors=flavors)
    assert starts(found, a=100, b=50, c=10) == {"b": 100, "c": 0}


def test_what_is_never_admitted_is_counted_by_reason() -> None:
    works = [
        workload("huge", "q", 80, created=-9),
        workload("paused", "q", 1, created=-9, active=False),
        workload("lost", "elsewhere", 1, created=-9),
        workload("held", "stopped", 1, created=-9),
    ]
    found = twin([cluster_queue("q", 8), cluster_queue("stopped", 8, stopPolicy="Hold")], works)
    assert found.snapshot.left_out == {
        "asks for more than its queue could ever hold": 1,
        "not active": 1,
        "no such LocalQueue": 1,
        "its ClusterQueue is stopped (Hold)": 1,
    }
    assert found.jobs.empty


def test_a_workload_is_found_by_its_job_and_two_of_one_name_are_named() -> None:
    works = [workload(name, "q", 1, created=-9) for name in ("a", "b")]
    works[1]["metadata"]["ownerReferences"][0]["name"] = "a"
    found = twin([cluster_queue("q", 8)], works)
    assert found.key_of("job-b") == found.key_of("ml/job-b") == "ml/job-b"
    with pytest.raises(ParameterError, match="ml/job-a or ml/job-b"):
        found.key_of("a")
    with pytest.raises(ParameterError, match="no Workload z"):
        found.key_of("z")
