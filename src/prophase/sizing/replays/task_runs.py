"""Task instances of a trace as a sizer meets them: what is known before, what came out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, ParameterError, not_among
from prophase.json_types import JsonMapping, JsonObject
from prophase.sizing.resources import RESOURCES, Floats, Resource, numbers_of, placeholder_remark
from prophase.trace.column_table import distinct_in, in_file, missing_in
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


@dataclass(frozen=True)
class UsableRuns:
    """The instances of a trace that can be replayed as arrays, in order of submission."""

    #: the table they are rows of, with their identity, and the row of each
    jobs: pd.DataFrame
    rows: NDArray[np.int64]
    resource: Resource
    peak: Floats
    runtime_h: Floats
    #: NaN where nothing was asked for
    request: Floats
    submit_s: Floats
    start_s: Floats
    end_s: Floats
    cut_off: NDArray[np.bool_]
    #: reason -> instances left out
    left_out: dict[str, int]
    #: what a reader of the requests should know
    remark: str

    @property
    def rule(self) -> IdentityRule:
        """By which columns they are grouped."""
        return rule_of(self.jobs) or NO_RULE

    @property
    def instances(self) -> Floats:
        """Of a gang: how many hold the request at once."""
        found: Floats = np.fmax(numbers_of(self.jobs, "instances")[self.rows], 1.0)
        return found

    @property
    def origins(self) -> Floats:
        """The sample or execution of each, as a number; NaN if it is not known."""
        return _origins(self.jobs)[self.rows]

    @property
    def inputs_gib(self) -> Floats:
        """Sizes of inputs as far as they are declared before the run."""
        size = numbers_of(self.jobs, DECLARED_INPUT) / _BYTES_PER_GIB
        if np.isnan(size).all():
            size = numbers_of(self.jobs, "attr_input_gib")
        return size[self.rows]  # type: ignore[no-any-return]

    def task_runs(self, track: Track) -> TaskRuns:
        """Return them one by one, with what sizers may know of each."""
        keys = identity_keys(self.jobs)
        names, features = known_before(self.jobs, track, self.resource)
        posts, origins, instances = _posts(self.jobs), self.origins, self.instances
        ids = self.jobs["job_id"].astype(str).tolist() if "job_id" in self.jobs else None
        runs = [
            TaskRun(
                names[i], features[i], posts[i], float(self.peak[at]), float(self.runtime_h[at]),
                float(self.request[at]), float(self.submit_s[at]), float(self.start_s[at]),
                float(self.end_s[at]), ids[i] if ids else "", float(instances[at]),
                bool(self.cut_off[at]), keys[i][0], keys[i][1], float(origins[at]),
            )
            for at, i in enumerate(self.rows.tolist())
        ]  # fmt: skip
        return TaskRuns(runs, self.left_out, self.resource, self.rule, self.remark)


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
    return usable_runs(jobs, resource=resource, cut_off=cut_off).task_runs(track)


def usable_runs(jobs: pd.DataFrame, *, resource: str, cut_off: bool = False) -> UsableRuns:
    """Return the jobs that :func:`task_runs` returns, as arrays; a table may stay in its file."""
    if resource not in RESOURCES:
        raise ParameterError(not_among(f"resource {resource!r} is unknown.", resource, RESOURCES))
    what = RESOURCES[resource]
    peak, runtime_h = what.used(jobs), numbers_of(jobs, "duration_s") / 3600
    if np.isnan(runtime_h).all():
        # a trace that records no run times: every run counts alike
        runtime_h = np.ones(len(jobs))
    request = what.requested(jobs)
    usable = np.ones(len(jobs), bool)
    left_out = {}
    ended_short = _cut_off(jobs, resource) & np.isfinite(request) & cut_off
    peak = np.where(ended_short, np.fmax(peak, request), peak)
    for reason, found in _unusable(jobs, peak, runtime_h):
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
    rows = np.flatnonzero(usable)
    held = [values[rows] for values in (peak, runtime_h, request, ended_short)]
    del peak, runtime_h, request, ended_short
    held += _clock(jobs, held[1], rows)
    order = np.argsort(held[4], kind="stable")
    peak, runtime_h, request, ended_short, submit, start, end = (one[order] for one in held)
    remark = "" if what.held else placeholder_remark(jobs, usable)
    return UsableRuns(
        jobs if in_file(jobs) is not None else with_identity(jobs), rows[order], what, peak,
        runtime_h, request, submit, start, end, ended_short, left_out, remark,
    )  # fmt: skip


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
    submit, _, _ = _clock(jobs, numbers_of(jobs, "duration_s") / 3600, slice(None))
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
    return _ended_as(jobs, _AT_THE_LIMIT.get(resource, ()))


def _ended_as(jobs: pd.DataFrame, statuses: Sequence[str]) -> Any:
    """Say which jobs have one of these statuses."""
    if "status" not in jobs or not statuses:
        return np.zeros(len(jobs), bool)
    return jobs["status"].isin(statuses).to_numpy(bool)


def _unusable(jobs: pd.DataFrame, peak: Any, runtime_h: Any) -> Iterator[tuple[str, Any]]:
    yield _ONLY_A_BOUND, _ended_as(jobs, ("failed", "oom", "timeout", "cancelled"))
    yield "still pending or running", _ended_as(jobs, ("pending", "running"))
    yield "no measured peak", ~np.isfinite(peak) | (peak == 0)
    yield "a negative peak", peak < 0
    yield "no run time", ~np.isfinite(runtime_h) | (runtime_h < 0)


def _clock(jobs: pd.DataFrame, runtime_h: Any, among: Any) -> tuple[Any, Any, Any]:
    """Return submit, start and end of some; a trace without clocks runs one after the other."""
    submit, start = numbers_of(jobs, "submit_s"), numbers_of(jobs, "start_s")
    if np.isnan(submit).all() and np.isnan(start).all():
        order = numbers_of(jobs, "submit_order")
        # the order of rows is no order in time: rows sorted by use would look like rising use
        mixed = np.random.default_rng(0).permutation(len(jobs)).astype(float)
        submit = np.where(np.isnan(order), mixed, order)[among]
        # nothing says what ran beside what: each ends before the next is submitted
        return submit, submit, submit + 0.5
    submit = np.where(np.isnan(submit), start, submit)
    latest = np.nanmax(submit)
    submit, start, end = submit[among], start[among], numbers_of(jobs, "end_s")[among]
    submit = np.where(np.isnan(submit), latest, submit)
    start = np.where(np.isnan(start), submit, start)
    end = np.where(np.isnan(end), start + 3600 * np.nan_to_num(runtime_h), end)
    return submit, start, end


def _told(jobs: pd.DataFrame, request: Any, submit: Any, track: Track) -> list[JsonObject]:
    """Return per job what a sizer is given before the run."""
    columns: dict[str, list[Any]] = {
        "workflow": _texts(jobs, "workload"),
        "tag": _texts(jobs, "attr_tag"),
        "cpus": numbers_of(jobs, "request_cpu_cores").tolist(),
        "request_gib": request.tolist(),
        "time_limit_h": (numbers_of(jobs, "time_limit_s") / 3600).tolist(),
        "submit_s": submit.tolist(),
    }
    for name in _ALSO_TOLD:
        if name in jobs:
            columns[name] = _texts(jobs, name)
    for name in map(str, jobs.columns):
        # whatever else a source knows before the run, such as a batch size or a region
        if name.startswith("attr_") and name not in (DECLARED_INPUT, "attr_tag"):
            numeric = jobs[name].dtype.kind in "fiu"
            values = numbers_of(jobs, name).tolist() if numeric else _texts(jobs, name)
            columns.setdefault(name.removeprefix("attr_"), values)
    size = numbers_of(jobs, DECLARED_INPUT)
    if track == "input":
        size = np.where(np.isnan(size), numbers_of(jobs, READ_CHARACTERS), size)
    if not np.isnan(size).all():
        columns["input_gib"] = (size / _BYTES_PER_GIB).tolist()
    rows = zip(*columns.values(), strict=True)
    return [
        {name: value for name, value in zip(columns, row, strict=True) if _is_known(value)}
        for row in rows
    ]


def _origins(jobs: pd.DataFrame) -> Floats:
    """Return a number for the sample of every job, or for the execution it is a part of."""
    found = np.full(len(jobs), np.nan)
    # each job its own parent says nothing of which belong together
    own = "parent_id" in jobs and _values_in(jobs, "parent_id") == len(jobs)
    for column in ("attr_tag",) if own else ("attr_tag", "parent_id"):
        if column in jobs:
            large = in_file(jobs)
            told = (
                # each of millions of parents has a text of its own
                large.number_per_text(column, _number_of_text)
                if large is not None and large.dtypes[column].kind == "O"
                else per_value(jobs[column], _number_of_text)
            )
            np.copyto(found, told, where=np.isnan(found))
    return found


def _values_in(jobs: pd.DataFrame, column: str) -> int:
    return distinct_in(jobs, column) + (missing_in(jobs, column) > 0)


def _number_of_text(value: object) -> float:
    return float(crc32(str(value).encode())) if str(value) else math.nan


def per_value(column: pd.Series, number_of: Callable[[Any], float]) -> Floats:
    """Return a number per row that is made of its value, once for all equal ones; NaN of none."""
    codes, values = pd.factorize(column)
    made: Floats = np.array([*(number_of(value) for value in values), math.nan])
    return made[codes]


def _posts(jobs: pd.DataFrame) -> list[dict[str, float]]:
    columns = {
        str(name): numbers_of(jobs, str(name)).tolist()
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
