"""When a job will start, as an answer: past forecasts checked, futures simulated, words found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Result
from prophase.sim.cluster import Cluster
from prophase.sim.forecast.back_test import Coverage, calibrate
from prophase.sim.forecast.past_forecasts import waits_of_alike, withheld
from prophase.sim.forecast.queue_state import require_starts
from prophase.sim.forecast.start_forecast import NEW_JOB, StartForecast, forecast_start
from prophase.trace.describe.trace_clock import latest_moment_s, moment_words
from prophase.trace.trace_tables import Trace


@dataclass(frozen=True)
class StartQuestion:
    """Which job, seen from when, and how carefully.

    Attributes
    ----------
    job : str or dict
        Id of a waiting job, or the columns of one that is submitted now.
    now_s : float, optional
        The instant; the last event of the trace if it is not given.
    draws : int
        Futures that are simulated.
    check : int
        Past instants at which forecasts are checked; 0: none.
    """

    job: str | JsonObject
    now_s: float | None = None
    draws: int = 100
    check: int = 15
    seed: int = 0


def answer_start(
    trace: Trace,
    cluster: Cluster,
    question: StartQuestion,
    policy: Mapping[str, Any],
    progress: Callable[[str, float | None], None],
) -> tuple[StartForecast, Result]:
    """Forecast the start of a job, with an interval that past forecasts have widened."""
    require_starts(trace.jobs)
    now_s = latest_moment_s(trace.jobs) if question.now_s is None else question.now_s
    first_s = float(trace.jobs["submit_s"].min())
    if now_s < first_s:
        raise InputError(
            f"at {moment_words(now_s, trace.clock)} no job had been submitted yet: the first came "
            f"at {moment_words(first_s, trace.clock)}. Ask for a later instant with --now."
        )
    checked, unchecked = None, "not asked for"
    if question.check:
        progress("checking past forecasts", None)
        try:
            checked = calibrate(
                trace.jobs,
                cluster,
                now_s=now_s,
                instants=question.check,
                random_state=question.seed,
                **policy,
            )
        except InputError as cause:
            unchecked = str(cause)
    progress("simulating futures", None)
    found = forecast_start(
        trace.jobs,
        cluster,
        question.job,
        now_s=now_s,
        draws=question.draws,
        stretch=checked.stretch if checked else None,
        random_state=question.seed,
        **policy,
    )
    found = withheld(found, checked.why_withheld if checked else "")
    document: JsonObject = {
        **found.to_dict(),
        "policy": dict(policy),
        "checked": checked.to_dict() if checked else {"missing": unchecked},
        "data_hash": trace.data_hash,
    }
    notes = _remarks(found, checked, unchecked)
    if not found.known and (told := _as_jobs_alike(trace.jobs, now_s, question.job)):
        notes.insert(2, told)
    return found, Result.of_rows(
        "eta", _rows(found, trace.clock), values=finite(document), notes=notes
    )


def _as_jobs_alike(jobs: pd.DataFrame, now_s: float, asked: str | JsonObject) -> str:
    """Say how long jobs alike waited that started last: what is known without a forecast."""
    if isinstance(asked, str):
        rows = jobs[jobs["job_id"].astype(str) == asked].to_dict("records")
        known = {str(name): value for one in rows[:1] for name, value in one.items()}
        waits = waits_of_alike(jobs, now_s, known) if known else np.empty(0)
    else:
        waits = waits_of_alike(jobs, now_s, {"submit_s": now_s, **asked})
    if not len(waits):
        return ""
    half, most = (units.duration(float(np.quantile(waits, share))) for share in (0.5, 0.9))
    return (
        f"Without a forecast: of the {counted(len(waits), 'job')} alike that started last, half "
        f"started within {half}, one in ten took longer than {most}; those that still wait are "
        "not among them."
    )


def _rows(found: StartForecast, clock: str) -> list[JsonObject]:
    if not found.known:
        return []
    ends = (("earliest, 10 %", found.p10_s), ("median", found.p50_s), ("latest, 90 %", found.p90_s))
    return [
        {
            "start": name,
            "in": units.duration(value),
            "at": moment_words(found.now_s + value, clock),
            "at_s": found.now_s + value,
        }
        for name, value in ends
        if value is not None
    ]


def _remarks(found: StartForecast, checked: Coverage | None, unchecked: str) -> list[str]:
    job = "A new job" if found.job_id == NEW_JOB else f"Job {found.job_id}"
    said = [
        f"{job}: {counted(found.running, 'job runs', 'jobs run')}, "
        f"{counted(found.waiting - 1, 'other waits', 'others wait')}, {found.ahead:,} of them "
        "submitted earlier."
    ]
    if not found.known:
        hint = []
        if checked is not None and checked.why_withheld:
            hint = ["The policy or cluster may not be the one at work: prophase validate"]
        return [*said, f"No forecast: {found.reason}.", *hint]
    said += [f"Note: {note}." for note in found.notes]
    if checked is None:
        return [*said, f"The interval is not checked against the past: {unchecked}"]
    said.append(
        f"Checked at {checked.instants} past instants, {checked.forecasts} jobs: plain intervals "
        f"held {checked.covered.value:.0%} of the starts and are widened to hold 80 %."
    )
    said.append(
        f"Median error {units.duration(checked.median_error_s)}; recent waits of jobs alike "
        f"{units.duration(checked.alike_error_s)}."
    )
    return said
