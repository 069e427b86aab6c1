"""Recommendations kept in a file: what each task should ask for, ready when a job is submitted.

Making them back-tests the whole past, which takes time; a service or a scheduler looks them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from prophase.errors import InputError, ModelFileError
from prophase.json_types import JsonMapping
from prophase.modelfile import load_model, save_model
from prophase.plain import finite
from prophase.sizing.recommender import Gate, Recommendation, ResourceRecommendations, recommend
from prophase.sizing.replays.task_runs import NAMING, UNNAMED
from prophase.sizing.resources import RESOURCES
from prophase.stats import Estimate

KIND = "sizing.requests"
LAYOUT = 1
#: what is sized at submission
SIZED = ("memory", "cpu", "time")
_NUMBERS = ("runs", "now", "tried", "saving", "saved_per_month")
_OOM = {"oom": "value", "oom_low": "low", "oom_high": "high"}


@dataclass(frozen=True)
class Recommendations:
    """Recommendations for every task, by resource.

    Examples
    --------
    >>> jobs = pd.DataFrame({"task": ["align"] * 40, "memory_peak_gib": 2.0, "duration_s": 600.0})
    >>> jobs = jobs.assign(job_id=range(40), request_memory_gib=16.0)
    >>> learn_recommendations(jobs).of("memory", "align").keep
    False
    """

    by_resource: Mapping[str, ResourceRecommendations]
    data_hash: str = ""
    #: resource -> why there is no recommendation
    silent: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_task = {
            resource: {one.task: one for one in found.tasks}
            for resource, found in self.by_resource.items()
        }
        object.__setattr__(self, "_by_task", by_task)

    def of(self, resource: str, task: str) -> Recommendation | None:
        """Return the recommendation for one task; None if nothing is known of it."""
        by_task: Mapping[str, Mapping[str, Recommendation]] = self.__dict__["_by_task"]
        return by_task.get(resource, {}).get(task)

    def save(self, path: Path | str) -> str:
        """Write all to one file and return its checksum."""
        parts = {resource: _packed(found) for resource, found in self.by_resource.items()}
        return save_model(
            path,
            kind=KIND,
            meta={"layout": LAYOUT, "resources": parts, "silent": dict(self.silent)},
            data_hash=self.data_hash,
        )

    @staticmethod
    def load(path: Path | str) -> Recommendations:
        """Return the recommendations of a file."""
        held = load_model(path, kind=KIND)
        if held.meta.get("layout") != LAYOUT:
            raise ModelFileError(
                f"{path}: was written by Prophase {held.version} in another layout. Make them "
                "again with: prophase learn"
            )
        try:
            parts = {name: _unpacked(name, one) for name, one in held.meta["resources"].items()}
            return Recommendations(parts, held.data_hash, dict(held.meta["silent"]))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as cause:
            raise ModelFileError(
                f"{path}: the recommendations cannot be restored: {cause!r}. Make them again "
                "with: prophase learn"
            ) from cause


def learn_recommendations(
    jobs: pd.DataFrame,
    *,
    risk: float = 0.01,
    gate: Gate | None = None,
    resources: Sequence[str] = SIZED,
    data_hash: str = "",
    progress: Callable[[str], None] = lambda step: None,
) -> Recommendations:
    """Return recommendations for every task of a trace, for each resource that it measures."""
    found, silent = {}, {}
    for resource in resources:
        progress(f"sizing {resource}")
        try:
            found[resource] = recommend(
                jobs, risk=risk, gate=gate, resource=resource, data_hash=data_hash
            )
        except InputError as cause:
            silent[resource] = str(cause)
    return Recommendations(found, data_hash, silent)


def task_of(job: JsonMapping) -> str:
    """Return the task that a job counts as, given the columns that have a value.

    Examples
    --------
    >>> task_of({"user": "ann", "workload": "bert"})
    'bert'
    """
    return next((str(job[name]) for name in NAMING if job.get(name) is not None), UNNAMED)


def _packed(found: ResourceRecommendations) -> dict[str, object]:
    tasks = found.tasks
    return {
        "risk": found.risk,
        "span_h": found.span_h,
        "left_out": dict(found.left_out),
        "tasks": [one.task for one in tasks],
        "why": [one.why for one in tasks],
        "keep": [one.keep for one in tasks],
        "ladders": [list(one.ladder) for one in tasks],
        # JSON has no NaN
        **{name: [finite(getattr(one, name)) for one in tasks] for name in _NUMBERS},
        **{name: [finite(getattr(one.oom, end)) for one in tasks] for name, end in _OOM.items()},
    }


def _unpacked(resource: str, held: JsonMapping) -> ResourceRecommendations:
    rows = zip(
        held["tasks"], held["why"], held["keep"], held["ladders"],
        *(held[name] for name in (*_NUMBERS, *_OOM)), strict=True,
    )  # fmt: skip
    tasks = []
    for task, why, keep, ladder, runs, *numbers in rows:
        now, tried, saving, saved, oom, low, high = map(_number, numbers)
        rungs = tuple(map(float, ladder))
        tasks.append(
            Recommendation(
                str(task), int(runs), now, rungs, Estimate(oom, low, high), int(tried), saving,
                saved, str(why), bool(keep),
            )
        )  # fmt: skip
    unit = RESOURCES[resource].unit
    left_out = {str(k): int(v) for k, v in held["left_out"].items()}
    return ResourceRecommendations(
        tasks, float(held["risk"]), unit, resource, left_out, float(held["span_h"])
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
