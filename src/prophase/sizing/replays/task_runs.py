"""Task instances of a trace as a sizer meets them: what is known before, what came out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.json_types import JsonMapping, JsonObject
from prophase.sizing.resources import RESOURCES, Resource, placeholder_remark
from prophase.trace.identity.folding import folded_numbers
from prophase.trace.identity.job_identity import full_name, identity_keys, rule_of, with_identity
from prophase.trace.identity.rule import NO_RULE, IdentityRule

Track = Literal["input", "strict"]
TRACKS = ("input", "strict")
_BYTES_PER_GIB = 2.0**30
#: sizes of inputs: declared before the run, and the stand-in that only monitoring knows
DECLARED_INPUT, READ_CHARACTERS = "attr_input_bytes", "after_rchar_bytes"
#: submit-time columns beside those every sizer is given
_ALSO_TOLD = ("profile", "phase", "user", "group", "queue", "gpu_type")
#: what monitoring reports, by its name in ``features["post"]``
_AFTERWARDS = (
    "cpu_mean_cores", "cpu_peak_cores", "memory_mean_gib", "read_bytes", "write_bytes",
    "read_count", "write_count", "gpu_util_mean_pct", "gpu_memory_peak_gib",
)  # fmt: skip


@dataclass(frozen=True)
class TaskRun:
    """One finished instance of a task."""

    #: whose and which, in one text: what its history is kept by
    task: str
    #: what a sizer may know before the run
    features: JsonObject
    #: what monitoring says after it
    post: dict[str, float]
    peak: float
    runtime_h: float
    #: what the user asked for; NaN if nothing
    request: float
    submit_s: float
    start_s: float
    end_s: float
    job_id: str = ""
    #: of a gang: how many hold the request at once
    instances: float = 1.0
    #: killed at its limit: it needed more than ``peak``
    cut_off: bool = False
    tenant: str = ""
    kind: str = ""
    #: the sample or execution it belongs to, as a number: runs of one are alike; NaN if not known
    origin: float = math.nan


@dataclass(frozen=True)
class TaskRuns:
    """The instances of a trace that can be replayed, and how many cannot."""

    runs: list[TaskRun]
    #: reason -> instances left out
    left_out: dict[str, int]
    resource: Resource
    #: by which columns they are grouped
    rule: IdentityRule = NO_RULE
    #: what a reader of the requests should know
    remark: str = ""

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def largest_request(self) -> float:
        """Return the most any of them asked for, or used if none asked."""
        asked = [run.request for run in self.runs if run.request > 0]
        return max(asked) if asked else max(run.peak for run in self.runs)


def task_runs(
    jobs: pd.DataFrame,
    *,
    track: Track = "input",
    resource: str = "memory",
    cut_off: bool = False,
) -> TaskRuns:
    """Return the jobs as task instances, in order of submission.

    Parameters
    ----------
    jobs : DataFrame
        Finished jobs. Those without a measured peak or a run time cannot be replayed and are
        left out, as are failed ones, whose peak is only a lower bound. If no job has a run
        time, each counts as one hour.
    track : {"input", "strict"}
        Whether sizers see the bytes a task reads, which stand in for the size of its input.
        Sizes declared before the run are seen in both.
    resource : str
        What is sized; one of :data:`~prophase.sizing.resources.RESOURCES`.
    cut_off : bool, default=False
        Also return runs that were killed at their limit: they needed more than it.
    """
    if track not in TRACKS:
        raise ParameterError(not_among(f"track {track!r} is unknown.", track, TRACKS))
    if resource not in RESOURCES:
        raise ParameterError(not_among(f"resource {resource!r} is unknown.", resource, RESOURCES))
    what = RESOURCES[resource]
    peak, runtime_h = what.used(jobs), _numbers(jobs, "duration_s") / 3600
    if np.isnan(runtime_h).all():
        # a trace that records no run times: every run counts alike
        runtime_h = np.ones(len(jobs))
    request = what.requested(jobs)
    usable = np.ones(len(jobs), bool)
    left_out = {}
    ended_short = _cut_off(jobs, resource) & np.isfinite(request) & cut_off
    peak = np.where(ended_short, np.fmax(peak, request), peak)
    for reason, found in _unusable(jobs, peak, runtime_h).items():
        bad = found & ~ended_short if reason == _ONLY_A_BOUND else found
        if (bad & usable).any():
            left_out[reason] = int((bad & usable).sum())
        usable &= ~bad
    if not usable.any():
        said = "; ".join(f"{reason}: {count:,}" for reason, count in left_out.items())
        if len(jobs) and not np.isfinite(what.used(jobs)).any():
            raise InputError(_not_measured(jobs, what))
        raise InputError(
            f"no job can be replayed: a finished job with a measured peak ({what.use_column}) and "
            f"a run time is needed. Left out: {said or 'none, there are no jobs'}."
        )
    submit, start, end = _clock(jobs, runtime_h)
    order = [int(i) for i in np.argsort(submit, kind="stable") if usable[i]]
    jobs = with_identity(jobs)
    keys = identity_keys(jobs)
    names, features = known_before(jobs, track, what)
    posts, origins = _posts(jobs), _origins(jobs)
    instances = np.fmax(_numbers(jobs, "instances"), 1.0)
    identities = jobs["job_id"].astype(str).tolist() if "job_id" in jobs else [""] * len(jobs)
    runs = [
        TaskRun(
            names[i], features[i], posts[i], float(peak[i]), float(runtime_h[i]), float(request[i]),
            float(submit[i]), float(start[i]), float(end[i]), identities[i],
            float(instances[i]), bool(ended_short[i]), *keys[i], origins[i],
        )
        for i in order
    ]  # fmt: skip
    remark = "" if what.held else placeholder_remark(jobs, usable)
    return TaskRuns(runs, left_out, what, rule_of(jobs) or NO_RULE, remark)


def _not_measured(jobs: pd.DataFrame, what: Resource) -> str:
    """Say that a trace does not hold the use of a resource, and what it does hold."""
    others = [one.name for one in RESOURCES.values() if np.isfinite(one.used(jobs)).any()]
    instead = f" It has the use of: {', '.join(others)} (--resource)." if others else ""
    return (
        f"no job can be replayed: no measured peak ({what.use_column}) is here, so nothing "
        f"can be told of its {what.spoken}.{instead} Add it to the jobs, or measure some runs: "
        "prophase log."
    )


def known_before(
    jobs: pd.DataFrame, track: Track, resource: Resource
) -> tuple[list[str], list[JsonObject]]:
    """Return the task of every job, in the order of the table, and what is known before it runs."""
    submit, _, _ = _clock(jobs, _numbers(jobs, "duration_s") / 3600)
    jobs = with_identity(jobs)
    names = [full_name(key) for key in identity_keys(jobs)]
    known = _told(jobs, resource.requested(jobs), submit, track)
    if (rule_of(jobs) or NO_RULE).folds_name:
        for one, name in zip(known, _texts(jobs, "name"), strict=True):
            _add_numbers(one, name)
    return names, known


def _add_numbers(known: JsonObject, name: str | None) -> None:
    """Add the numbers of a job's name that its kind does not have, as attributes of the job."""
    for word, value in folded_numbers(name).items() if name else ():
        known.setdefault(word, value)


def known_of(job: JsonMapping, resource: Resource, rule: IdentityRule = NO_RULE) -> JsonObject:
    """Return what is known of one job before it runs, as :func:`known_before` does of a table.

    Examples
    --------
    >>> job = {"request_memory_gib": 8, "attr_batch": 32, "user": "ann", "submit_s": 5.0}
    >>> known_of(job, RESOURCES["memory"])
    {'request_gib': 8.0, 'submit_s': 5.0, 'user': 'ann', 'batch': 32.0}
    """
    asked = _number(job, resource.request_column) * resource.request_factor
    asked = float(resource.allocatable(asked))
    clock = (_number(job, name) for name in ("submit_s", "start_s", "submit_order"))
    found: JsonObject = {
        "workflow": _text(job, "workload"),
        "tag": _text(job, "attr_tag"),
        "cpus": _number(job, "request_cpu_cores"),
        "request_gib": asked if asked > 0 else None,
        "time_limit_h": _number(job, "time_limit_s") / 3600,
        "submit_s": next((one for one in clock if one == one), 0.0),
    }
    found |= {name: _text(job, name) for name in _ALSO_TOLD if name in job}
    for name in map(str, job):
        if name.startswith("attr_") and name not in (DECLARED_INPUT, "attr_tag"):
            value = job[name]
            numeric = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            told = _number(job, name) if numeric else _text(job, name)
            found.setdefault(name.removeprefix("attr_"), told)
    found["input_gib"] = _number(job, DECLARED_INPUT) / _BYTES_PER_GIB
    known = {name: value for name, value in found.items() if _is_known(value)}
    if rule.folds_name:
        _add_numbers(known, _text(job, "name"))
    return known


def _number(job: JsonMapping, name: str) -> float:
    try:
        return float(job[name])
    except (KeyError, TypeError, ValueError):
        return math.nan


def _text(job: JsonMapping, name: str) -> str | None:
    value = job.get(name)
    return None if value is None or value != value else str(value)


_ONLY_A_BOUND = "killed or failed, so that the peak is only a lower bound"
#: how an end at the limit is called
_AT_THE_LIMIT = {"memory": ("oom",), "time": ("timeout",)}


def _cut_off(jobs: pd.DataFrame, resource: str) -> Any:
    """Say which runs ended because they reached their limit."""
    if "status" not in jobs or resource not in _AT_THE_LIMIT:
        return np.zeros(len(jobs), bool)
    return jobs["status"].astype("string").isin(_AT_THE_LIMIT[resource]).to_numpy(bool)


def _unusable(jobs: pd.DataFrame, peak: Any, runtime_h: Any) -> JsonObject:
    status = jobs["status"].astype("string").fillna("") if "status" in jobs else None
    never = np.zeros(len(jobs), bool)
    return {
        _ONLY_A_BOUND: never
        if status is None
        else status.isin(["failed", "oom", "timeout", "cancelled"]).to_numpy(bool),
        "still pending or running": never
        if status is None
        else status.isin(["pending", "running"]).to_numpy(bool),
        "no measured peak": ~np.isfinite(peak) | (peak == 0),
        "a negative peak": peak < 0,
        "no run time": ~np.isfinite(runtime_h) | (runtime_h < 0),
    }


def _clock(jobs: pd.DataFrame, runtime_h: Any) -> tuple[Any, Any, Any]:
    """Return submit, start and end; a trace without clocks runs one task after the other."""
    submit, start = _numbers(jobs, "submit_s"), _numbers(jobs, "start_s")
    end = _numbers(jobs, "end_s")
    if np.isnan(submit).all() and np.isnan(start).all():
        order = _numbers(jobs, "submit_order")
        # the order of rows is no order in time: rows sorted by use would look like rising use
        mixed = np.random.default_rng(0).permutation(len(jobs)).astype(float)
        submit = np.where(np.isnan(order), mixed, order)
        # nothing says what ran beside what: each ends before the next is submitted
        return submit, submit, submit + 0.5
    submit = np.where(np.isnan(submit), start, submit)
    submit = np.where(np.isnan(submit), np.nanmax(submit), submit)
    start = np.where(np.isnan(start), submit, start)
    end = np.where(np.isnan(end), start + 3600 * np.nan_to_num(runtime_h), end)
    return submit, start, end


def _told(jobs: pd.DataFrame, request: Any, submit: Any, track: Track) -> list[JsonObject]:
    """Return per job what a sizer is given before the run."""
    columns: dict[str, list[Any]] = {
        "workflow": _texts(jobs, "workload"),
        "tag": _texts(jobs, "attr_tag"),
        "cpus": _numbers(jobs, "request_cpu_cores").tolist(),
        "request_gib": request.tolist(),
        "time_limit_h": (_numbers(jobs, "time_limit_s") / 3600).tolist(),
        "submit_s": submit.tolist(),
    }
    for name in _ALSO_TOLD:
        if name in jobs:
            columns[name] = _texts(jobs, name)
    for name in map(str, jobs.columns):
        # whatever else a source knows before the run, such as a batch size or a region
        if name.startswith("attr_") and name not in (DECLARED_INPUT, "attr_tag"):
            numeric = jobs[name].dtype.kind in "fiu"
            values = _numbers(jobs, name).tolist() if numeric else _texts(jobs, name)
            columns.setdefault(name.removeprefix("attr_"), values)
    size = _numbers(jobs, DECLARED_INPUT)
    if track == "input":
        size = np.where(np.isnan(size), _numbers(jobs, READ_CHARACTERS), size)
    if not np.isnan(size).all():
        columns["input_gib"] = (size / _BYTES_PER_GIB).tolist()
    rows = zip(*columns.values(), strict=True)
    return [
        {name: value for name, value in zip(columns, row, strict=True) if _is_known(value)}
        for row in rows
    ]


def _origins(jobs: pd.DataFrame) -> list[float]:
    """Return a number for the sample of every job, or for the execution it is a part of."""
    samples, parents = _texts(jobs, "attr_tag"), _texts(jobs, "parent_id")
    if len(set(parents)) == len(parents):
        # each job is its own parent: that says nothing of which belong together
        parents = [None] * len(jobs)
    names = (sample or parent for sample, parent in zip(samples, parents, strict=True))
    return [math.nan if name is None else float(crc32(name.encode())) for name in names]


def _posts(jobs: pd.DataFrame) -> list[dict[str, float]]:
    columns = {
        str(name): _numbers(jobs, str(name)).tolist()
        for name in jobs.columns
        if name in _AFTERWARDS or _is_afterwards(jobs, str(name))
    }
    if not columns:
        return [{} for _ in range(len(jobs))]
    return [
        {name: value for name, value in zip(columns, values, strict=True) if value == value}
        for values in zip(*columns.values(), strict=True)
    ]


def _is_afterwards(jobs: pd.DataFrame, name: str) -> bool:
    return name.startswith("after_") and jobs[name].dtype.kind in "fiu"


def _is_known(value: Any) -> bool:
    return value is not None and value == value


def _texts(jobs: pd.DataFrame, column: str) -> list[str | None]:
    if column not in jobs:
        return [None] * len(jobs)
    return [None if pd.isna(value) else str(value) for value in jobs[column].tolist()]


def _numbers(jobs: pd.DataFrame, column: str) -> Any:
    if column not in jobs:
        return np.full(len(jobs), np.nan)
    return pd.to_numeric(jobs[column], errors="coerce").to_numpy(float, na_value=np.nan)
