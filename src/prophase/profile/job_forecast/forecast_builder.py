"""ask: what is known of a job before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.errors import InputError
from prophase.json_types import JsonMapping
from prophase.plural import listed
from prophase.profile.job_forecast.forecast import (
    EarlyEnd,
    Influence,
    JobForecast,
    ProfileForecast,
    RequestAndNeed,
    TargetForecast,
    confidence_of,
    say,
    unit_of,
)
from prophase.profile.predict.job_model import JobModel
from prophase.profile.predict.missing_columns import filled_ends
from prophase.profile.predict.predictor import LEVELS, Distribution, expected
from prophase.profile.predict.submit_columns import Columns, limits
from prophase.profile.submission.submission import Submission, from_fields, near_name
from prophase.result import Result
from prophase.stats import Estimate
from prophase.trace.schema import ATTRIBUTE_PREFIX, known_at_submit

if TYPE_CHECKING:
    from prophase.profile.classify.classifier import ProfileClassifier

#: places of a distribution that are looked at
_GRID = 37
#: answers that differ by less than this factor are the same
_SAME = 1.05
#: how many finished jobs stand in for what a job does not say, or is treated as not saying
_FILLED = 16
#: request -> use that it has to hold, the surest first
_NEEDS = {
    "request_memory_gib": ("memory_peak_gib", "memory_mean_gib"),
    "request_cpu_cores": ("cpu_peak_cores", "cpu_mean_cores"),
    "request_gpus": ("gpu_util_mean_pct",),
}
#: use -> how much of the request one of it is
_IN_REQUESTS = {"gpu_util_mean_pct": 0.01}


#: columns that say whose job it is and what it runs
_WHOSE = ("user", "task", "workload")


class _Shape(TypedDict, total=False):
    """Parts of a forecast that tell its distribution."""

    quantiles: dict[str, float]
    expected: float
    early: EarlyEnd | None


def ask(
    model: JobModel,
    job: Submission | JsonMapping,
    *,
    targets: Sequence[str] | None = None,
    classifier: ProfileClassifier | None = None,
    brief: bool = False,
) -> JobForecast:
    """Return what is known of a job before it runs.

    Parameters
    ----------
    model : JobModel
        What was learned from finished jobs.
    job : Submission or mapping
        The job: columns of the job table, everyday names and units allowed (``memory: 16Gi``).
    targets : sequence of str, optional
        Some of the model's targets, all if not given.
    classifier : ProfileClassifier, optional
        Names the profile of the job, too.
    brief : bool, default=False
        Leave out which attributes mattered and what the answer is unsure about, which takes most
        of the time.

    Returns
    -------
    JobForecast
        Each target with a 90 % range, a confidence and a reason; which attributes mattered:
        how the answer changes when one is treated as unknown, whatever the method; and what
        the answer is unsure about.

    Examples
    --------
    >>> from prophase.profile.predict.job_model import learn
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 30, "duration_s": [60.0, 600.0] * 30})
    >>> found = ask(learn(jobs, method="backoff-median"), {"user": "bob", "gpus": 2})
    >>> round(found["duration_s"].value), found["duration_s"].reason
    (600, 'based on 30 jobs with the same user')
    """
    submission = (
        job
        if isinstance(job, Submission)
        else from_fields(job, form="job description", where="the job")
    )
    columns = model.seen.in_kind(submission.columns)
    if not columns:
        raise InputError("the job says nothing. Name at least one column, such as user.")
    wanted = model.check_targets(targets)
    given = [name for name in known_at_submit(columns) if name in model.columns]
    if not given and all(name.startswith(ATTRIBUTE_PREFIX) for name in columns) and model.columns:
        own, known = (listed(list(map(_own_name, some))) for some in (columns, model.columns))
        said = "the job says nothing that finished jobs say."
        raise InputError(f"{said} It says {own}; they say {known}.")
    asked = _Asked.of(model, columns, [] if brief else given)
    found = tuple(_target(model, target, asked) for target in wanted)
    return JobForecast(
        job=columns,
        name=submission.name,
        targets=found,
        sizes=_sizes(found, columns, asked.foreign),
        profile=_profile(classifier, columns),
        unsure=() if brief else _unsure(model, columns, found, submission.notes),
        learnt_from=model.jobs,
        method=model.method,
    )


@dataclass(frozen=True)
class _Asked:
    """A job, and the same job without each of its attributes, every gap filled several times."""

    columns: JsonMapping
    given: Sequence[str]
    #: the job as it is, then every filled one
    jobs: Columns
    #: per variant, the job first: its rows of the jobs
    variants: list[slice]
    #: no job of the same user, task or application has finished
    foreign: bool

    @classmethod
    def of(cls, model: JobModel, columns: JsonMapping, given: Sequence[str]) -> _Asked:
        rows, variants = [dict(columns)], []
        bare = ({k: v for k, v in columns.items() if k != name} for name in given)
        for job in (columns, *bare):
            filled = model.exemplars.filled(job, most=_FILLED)
            variants.append(slice(len(rows), len(rows) + len(filled)))
            rows += filled
        whose = {name: columns[name] for name in _WHOSE if columns.get(name) is not None}
        foreign = bool(whose) and bool(model.seen.novelty(Columns.of([whose])).strange[0])
        return cls(columns, given, Columns.of(rows), variants, foreign)


def _target(model: JobModel, target: str, asked: _Asked) -> TargetForecast:
    predictor = model.predictors[target]
    answers, distribution = predictor.answers_and_distribution(asked.jobs)
    # what the job itself says decides how well it is known
    first = {name: values[0] for name, values in answers.items()}
    stratum = str(first["stratum"])
    filled = {name: held[asked.variants[0]] for name, held in answers.items()}
    job = np.zeros(len(filled["value"]), dtype=np.intp)
    ends = filled_ends(
        predictor, {n: held[:1] for n, held in answers.items()}, filled, job, job[:1]
    )
    value, low, high = (float(end[0]) for end in ends)
    said = Columns.of([asked.columns])
    novelty = model.seen.novelty(said)
    told = {name: np.array([end]) for name, end in
            (("value", value), ("low", low), ("high", high), ("reason", str(first["reason"])),
             ("abstained", bool(first["abstained"])))}  # fmt: skip
    told = novelty.told(told, predictor.bounds_, limits(said), yes_no=predictor.yes_no_)
    value, low, high = (float(told[name][0]) for name in ("value", "low", "high"))
    silent, strange = bool(told["abstained"][0]), int(novelty.strange[0])
    shape: _Shape = {}
    if not silent and not predictor.yes_no_:
        shape = _shape(distribution, asked.variants[0], (low, value, high))
    others = [_typical(answers["value"][part]) for part in asked.variants[1:]]
    return TargetForecast(
        target=target,
        unit=unit_of(target),
        predicted=Estimate(value, low, high, level=0.9),
        confidence="none"
        if silent
        else confidence_of(stratum, low, high, strange, int(first["seen"]), foreign=asked.foreign),
        reason=str(told["reason"][0]),
        stratum=stratum,
        seen=int(first["seen"]),
        mattered=() if silent else _mattered(asked.given, asked.columns, value, others),
        **shape,
    )


def _shape(distribution: Distribution, rows: slice, ends: tuple[float, float, float]) -> _Shape:
    """Return the distribution of a job: of all finished ones that fill its gaps, together."""
    grid = np.linspace(0.05, 0.95, _GRID).tolist()
    quantiles, outcomes = (part[rows] for part in distribution(grid))
    low, _, high = ends
    told = np.clip(np.quantile(quantiles.ravel(), LEVELS, method="nearest"), low, high)
    told[0], told[-1] = low, high
    return {
        "quantiles": {f"{level:g}": float(end) for level, end in zip(LEVELS, told, strict=True)},
        "expected": float(expected(told[None, :])[0]),
        "early": EarlyEnd.of(outcomes.ravel()),
    }


def _typical(values: Floats) -> float:
    """Return the geometric mean, to which every job that stands in contributes."""
    known = values[values > 0]
    return float(np.exp(np.log(known).mean())) if len(known) else np.nan


def _mattered(
    given: Sequence[str], columns: JsonMapping, value: float, others: Sequence[float]
) -> tuple[Influence, ...]:
    """Compare the answer with those to the same job without one of its attributes."""
    found = []
    for name, without in zip(given, others, strict=True):
        factor = value / without if without > 0 else np.nan
        if np.isfinite(factor) and max(factor, 1 / factor) >= _SAME:
            found.append(Influence(name, columns[name], without, float(factor)))
    return tuple(sorted(found, key=lambda one: -abs(np.log(one.factor))))


def _sizes(
    found: Sequence[TargetForecast], columns: JsonMapping, foreign: bool
) -> tuple[RequestAndNeed, ...]:
    """Return what the job needs of what it asks for; jobs of another kind do not say it."""
    known = ("seen",) if foreign else ("seen", "partly")
    answered = {one.target: one for one in found if not one.abstained and one.stratum in known}
    sizes = []
    for request, needs in _NEEDS.items():
        need = next((answered[name] for name in needs if name in answered), None)
        if need is not None and np.isfinite(need.high):
            asked, factor = columns.get(request), _IN_REQUESTS.get(need.target, 1.0)
            if request == "request_gpus" and not asked and need.high <= 0:
                continue  # a job that asks for no GPU and needs none
            typical, safe = factor * need.typical, factor * need.high
            sizes.append(RequestAndNeed(request, asked, typical, safe, need.target))
    return tuple(sizes)


def _profile(classifier: ProfileClassifier | None, columns: JsonMapping) -> ProfileForecast | None:
    if classifier is None:
        return None
    job = pd.DataFrame([columns])
    if not any(name in job for name in classifier.columns_):
        reason = f"none of {', '.join(classifier.columns_)} is given, which predict the profile"
        return ProfileForecast("unknown", 0.0, reason)
    row = classifier.assign(job, partial=True, likely=True).iloc[0]
    return ProfileForecast(str(row["profile"]), float(row["probability"]), str(row["reason"]))


def _unsure(
    model: JobModel,
    columns: JsonMapping,
    found: Sequence[TargetForecast],
    notes: Sequence[str],
) -> tuple[str, ...]:
    sentences = list(notes)
    absent = [_own_name(name) for name in model.exemplars.lacking(columns)]
    if absent:
        sentences.append(f"no {', '.join(absent)} given: taken from finished jobs like this one.")
    sentences += [f"{sentence}." for sentence in model.seen.surprises(dict(columns))]
    names = [name for name in columns if _is_unused(name, model)]
    unused = list(map(_own_name, names))
    if unused:
        said = f"{', '.join(unused)} not used: "
        # of attributes, some are refused as leaks
        if unused == names:
            said += "no finished job says it."
        else:
            said += "finished jobs do not say it, or it was left out."
        near = dict.fromkeys(near_name(one, set(model.columns) - set(columns)) for one in unused)
        sentences.append(" ".join([said, *filter(None, near)]))
    for one in found:
        if one.abstained:
            sentences.append(f"{one.target}: {one.reason}.")
    low = [one for one in found if one.confidence == "low"]
    if low:
        named = "every target" if len(low) == len(found) > 1 else ", ".join(o.target for o in low)
        whose = [f" of {one.target}" if len(low) > 1 else "" for one in low[:2]]
        plans = (say(one.target, one.careful) for one in low[:2])
        first = " and ".join(map("".join, zip(plans, whose, strict=True)))
        rest = ", the others likewise" if len(low) > 2 else ""
        sentences.append(f"low confidence for {named}: plan with {first}{rest}.")
    return tuple(sentences)


def _own_name(column: str) -> str:
    """Return the name of an attribute as the job gave it."""
    return column.removeprefix(ATTRIBUTE_PREFIX)


def _is_unused(name: str, model: JobModel) -> bool:
    """Say whether a column that a job says could decide, but no finished job has it."""
    says = name.startswith(("request_", ATTRIBUTE_PREFIX)) or name in ("time_limit_s", "gpu_type")
    return says and name not in {*model.seen.ranges, *model.seen.hashes}


def forecasts_result(found: Sequence[JobForecast], model: JobModel) -> Result:
    """Return what is known of jobs before they run, one after the other."""
    said = [line for forecast in found for line in ("", *forecast.lines())][1:]
    return Result(
        "ask",
        notes=[*said, "", f"Trained with {model.method} on {model.jobs:,} finished jobs."],
        records=[row for forecast in found for row in forecast.rows()],
        values={"jobs": [forecast.to_dict() for forecast in found], **model.origin},
    )
