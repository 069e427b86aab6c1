"""Which kinds of job are least certain and most expensive: the ones to measure next."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import yaml

from prophase.errors import InputError, MissingExtraError, ParameterError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.profile.predict.job_model import learn
from prophase.profile.predict.predictor import FEWEST_FINISHED
from prophase.sizing.resources import RESOURCES
from prophase.stats import Estimate, months_in
from prophase.stats.month import span_text, why_no_month
from prophase.trace.identity.job_identity import identity_keys, shown_keys, with_identity

#: what is predicted of a kind, by preference, with the request that it would change
_TARGETS = (("memory_peak_gib", "memory"), ("cpu_mean_cores", "cpu"), ("gpu_util_mean_pct", "gpu"))
_KIND = "kind"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class NextRun:
    """One kind of job, how sure its prediction is, and what is at stake."""

    kind: str
    runs: int
    measured: int
    #: what is predicted, with its 90 % range, in the unit of the target
    predicted: Estimate
    #: 0: certain; 1: nothing is known
    uncertainty: float
    reserved_per_month: float
    #: reserved x uncertainty: what a better answer could be worth at most
    at_stake_per_month: float
    #: at stake / sqrt(1 + measured runs): one more teaches less where there are many
    worth_per_month: float
    why: str
    attributes: JsonObject

    def to_dict(self) -> JsonObject:
        """Return the fields side by side, the ends of the range among them."""
        held = asdict(self)
        del held["predicted"]
        first = {name: held.pop(name) for name in ("kind", "runs", "measured")}
        return first | self.predicted.value_and_ends() | held


@dataclass(frozen=True)
class NextRuns:
    """The kinds to measure next, those that a run is worth most for first."""

    target: str
    unit: str
    runs: list[NextRun]
    #: kinds there are, of which ``runs`` shows the first
    kinds: int
    keys: tuple[str, ...]
    #: length of the history that a month is extrapolated from
    span_s: float = math.nan

    def rows(self) -> list[JsonObject]:
        """Return one row per kind."""
        found: list[JsonObject] = finite(
            [{k: v for k, v in one.to_dict().items() if k != "attributes"} for one in self.runs]
        )
        return found

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""
        found: JsonObject = finite(
            {
                "target": self.target, "unit": self.unit, "kinds": self.kinds,
                "keys": list(self.keys), "runs": [one.to_dict() for one in self.runs],
            }
        )  # fmt: skip
        return found


def next_runs(
    jobs: pd.DataFrame,
    *,
    keys: Sequence[str] = (),
    count: int = 10,
    random_state: int = 0,
) -> NextRuns:
    """Return the kinds of job whose measurement is worth most.

    What is at stake is what a kind reserves in a month times how uncertain its prediction is:
    the width of the 90 % range as a share of its upper end, or all of it where nothing is known.
    Kinds are ranked by that over the root of the runs there are: of a kind that was measured a
    thousand times one more run teaches little, however widely it varies.

    Parameters
    ----------
    keys : sequence of str
        What tells kinds apart: columns of the job table, with or without ``attr_``, as the
        scenario keys of a pipeline. Without them the task.
    count : int, default=10
        Kinds to return.

    Examples
    --------
    >>> at = np.arange(40)
    >>> jobs = pd.DataFrame({"job_id": at.astype(str), "task": np.where(at % 2, "a", "b")})
    >>> jobs["submit_s"], jobs["duration_s"], jobs["request_memory_gib"] = 3600.0 * at, 600.0, 8.0
    >>> jobs["memory_peak_gib"] = np.where(at % 2, 2.0, 1.0 + at / 10)
    >>> [one.kind for one in next_runs(jobs).runs]
    ['b', 'a']
    """
    if count < 1:
        raise ParameterError(f"count is {count}: ask for at least one kind.")
    if not len(jobs):
        raise InputError("there are no jobs to choose from.")
    target, resource = _target(jobs)
    what = RESOURCES[resource]
    columns = [_column(jobs, key) for key in keys]
    if columns:
        kinds = jobs[columns].astype("string").fillna("-").agg(" ".join, axis=1)
    else:
        named = identity_keys(with_identity(jobs))
        shown = shown_keys(named)
        kinds = pd.Series([shown[key] for key in named], index=jobs.index)
    hours = jobs["duration_s"].astype(float) / 3600 if "duration_s" in jobs else 1.0
    instances = jobs["instances"].fillna(1.0) if "instances" in jobs else 1.0
    asked = pd.Series(what.requested(jobs), index=jobs.index).fillna(
        pd.Series(what.used(jobs), index=jobs.index)
    )
    reserved = (asked * hours * instances).fillna(0.0)
    clock = _clock(jobs)
    span_s = float(clock.max() - clock.min())
    newest = jobs.assign(_at=clock).sort_values("_at", kind="stable").index
    last = pd.Series(newest, index=kinds.loc[newest].to_numpy()).groupby(level=0).last()
    answers = _answers(jobs, jobs.loc[last.to_numpy()], target, random_state)
    answers.index = last.index
    by_kind = reserved.groupby(kinds.to_numpy()).sum()
    runs_of = kinds.value_counts()
    known = pd.Series(np.isfinite(what.used(jobs)), index=jobs.index)
    measured = known.groupby(kinds.to_numpy()).sum()
    found = []
    for kind, row in answers.iterrows():
        name = str(kind)
        sure = bool(row["high"] > 0) and not bool(row["abstained"])
        doubt = float(1 - row["low"] / row["high"]) if sure else 1.0
        held = float(by_kind[name])
        seen = int(measured[name])
        why = f"measured {counted(seen, 'time')}" if seen else "never measured"
        job = jobs.loc[last[name]]
        given = {key: _plain(job[c]) for key, c in zip(keys, columns, strict=True)}
        if not given:
            given = {_KIND: name, "request": _plain(asked.loc[last[name]])}
        found.append(
            NextRun(
                name, int(runs_of[name]), seen,
                Estimate(float(row["value"]), float(row["low"]), float(row["high"]), 0.9), doubt,
                held, held * doubt, held * doubt / math.sqrt(1 + seen), why, given,
            )
        )  # fmt: skip
    found.sort(key=lambda one: (-one.worth_per_month, -one.uncertainty, one.kind))
    months = months_in(span_s)
    found = [
        replace(
            one,
            reserved_per_month=one.reserved_per_month / months,
            at_stake_per_month=one.at_stake_per_month / months,
            worth_per_month=one.worth_per_month / months,
        )
        for one in found
    ]
    grouped = tuple(keys) or (_KIND, "request")
    return NextRuns(target, what.unit, found[:count], len(found), grouped, span_s)


def registration(found: NextRuns, dates: str) -> str:
    """Return the kinds as a file for ``prophase runs register``.

    Parameters
    ----------
    dates : str
        Dates to run them for, as ``runs register`` reads them.
    """
    named: dict[str, int] = {}
    scenarios = []
    for one in found.runs:
        name = _UNSAFE.sub("-", one.kind).strip("-")[:80] or "kind"
        named[name] = named.get(name, 0) + 1
        unique = name if named[name] == 1 else f"{name}-{named[name]}"
        scenarios.append({"scenario": unique, **one.attributes})
    head = (
        f"# The {len(scenarios)} of {found.kinds} kinds of job that a run is worth most for: "
        f"at stake is what they\n# reserve in a month, in {found.unit} h, times how uncertain "
        f"{found.target} is.\n"
        f"# Needs a pipeline with: scenario: [{', '.join(found.keys)}]\n"
    )
    notes = "".join(
        f"# {s['scenario']}: {_at_stake(one, found.unit)}{one.why}\n"
        for s, one in zip(scenarios, found.runs, strict=True)
    )
    body = yaml.safe_dump({"dates": dates, "scenarios": scenarios}, sort_keys=False)
    return head + notes + str(body)


def month_in_words(found: NextRuns) -> str:
    """Say which history a month is extrapolated from, or why it is not."""
    return why_no_month(found.span_s) or f"extrapolated from {span_text(found.span_s)}"


def _at_stake(one: NextRun, unit: str) -> str:
    if math.isnan(one.at_stake_per_month):
        return ""
    return f"{one.at_stake_per_month:,.0f} {unit} h at stake; "


def _target(jobs: pd.DataFrame) -> tuple[str, str]:
    for target, resource in _TARGETS:
        use = RESOURCES[resource].used(jobs)
        if np.isfinite(use).sum() >= FEWEST_FINISHED and target in jobs:
            return target, resource
    wanted = ", ".join(name for name, _ in _TARGETS)
    raise InputError(
        f"fewer than {FEWEST_FINISHED} jobs have a measured use ({wanted}): everything is equally "
        "unknown. Measure any runs first: prophase runs demo shows how."
    )


def _column(jobs: pd.DataFrame, key: str) -> str:
    for name in (key, f"attr_{key}"):
        if name in jobs:
            return name
    known = [str(name).removeprefix("attr_") for name in jobs.columns]
    raise InputError(
        f"the history has no column {key!r} to tell kinds apart. It has: {', '.join(known[:20])}."
    )


def _clock(jobs: pd.DataFrame) -> Any:
    for name in ("submit_s", "start_s", "submit_order"):
        if name in jobs and jobs[name].notna().any():
            return jobs[name].astype(float).fillna(jobs[name].astype(float).min())
    return pd.Series(np.arange(len(jobs), dtype=float), index=jobs.index)


def _answers(
    history: pd.DataFrame, asked: pd.DataFrame, target: str, random_state: int
) -> pd.DataFrame:
    try:
        model = learn(history, [target], random_state=random_state)
    except MissingExtraError:
        model = learn(history, [target], method="backoff-median", random_state=random_state)
    return model.predict(asked, [target])


def _plain(value: Any) -> Any:
    """Return a value as YAML writes it."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "unknown"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float | bool) else str(value)
