"""What of a history may be learnt from; the linter refuses the same, in the same words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.plural import counted
from prophase.profile.predict.submit_columns import numbers
from prophase.trace.lint.check_registry import sampled
from prophase.trace.lint.checks.job_times import SURELY_NOT_SECONDS
from prophase.trace.lint.checks.leakage import clock_copies, given_away
from prophase.trace.lint.checks.repeated_rows import base_ids
from prophase.trace.schema import ATTRIBUTE_PREFIX

_CLOCKS = ("submit_s", "start_s", "end_s")


def learnable(history: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the history without what would teach something wrong, and what was left out.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["1", "1", "2"], "submit_s": [5.0, 5.0, 1e12]})
    >>> kept, notes = learnable(jobs)
    >>> len(kept), notes[0]
    (1, '1 job is there twice and counts once.')
    """
    notes: list[str] = []
    history = _once(history, notes)
    history = _on_a_clock(history, notes)
    at_once = int((numbers(history, "duration_s") == 0).sum())
    if at_once:
        notes.append(f"Not learnt from: {counted(at_once, 'run')} of 0 s.")
    return _without_clocks(_without_outcomes(history, notes), notes), tuple(notes)


def _once(history: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    if "job_id" not in history:
        return history
    same = [name for name in (*_CLOCKS, "duration_s") if name in history]
    rows = history[same].assign(job_id=base_ids(history))
    # an id alone may be a row number of several files
    copies = rows.duplicated().to_numpy() & history["job_id"].notna().to_numpy() & bool(same)
    if copies.any():
        said = counted(int(copies.sum()), "job is", "jobs are")
        notes.append(f"{said} there twice and {'counts' if copies.sum() == 1 else 'count'} once.")
    return history[~copies] if copies.any() else history


def _on_a_clock(history: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    far = np.zeros(len(history), dtype=np.bool_)
    for name in _CLOCKS:
        times = numbers(history, name)
        beyond = np.abs(times) > SURELY_NOT_SECONDS
        if beyond.sum() > 0.5 * max(int(np.isfinite(times).sum()), 2):
            raise InputError(
                f"{name} lies beyond 1e11 s, the year 5138, in most rows: it is in milliseconds "
                "or finer. Divide it by 1,000 before you learn; prophase lint names the rows."
            )
        far |= beyond
    if far.any():
        said = counted(int(far.sum()), "job has", "jobs have")
        notes.append(f"Not learnt from: {said} a time beyond the year 5138.")
    return history[~far] if far.any() else history


def _without_outcomes(history: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    found = given_away(sampled(history))
    notes += (
        f"{one.name} is not learnt from: it {one.how} {one.outcome}, so it was probably written "
        f"afterwards. Name it after_{one.name.removeprefix(ATTRIBUTE_PREFIX)} if so."
        for one in found
    )
    return history.drop(columns=[one.name for one in found]) if found else history


def _without_clocks(history: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Leave out what later jobs lie beyond: trees would take all of them for the last one."""
    found = clock_copies(sampled(history))
    notes += (f"{name} is not learnt from: it only says when a job came." for name in found)
    return history.drop(columns=found) if found else history
