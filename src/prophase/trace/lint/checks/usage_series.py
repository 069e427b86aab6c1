"""Usage series: order, gaps, repeated samples, length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from prophase import units
from prophase.trace.lint.check_registry import Floats, LintFinding, LintSubject, check, numbers

#: fewer samples than this say nothing about phases
SHORT = 10
_DAY_S = 86400.0


class _Steps(NamedTuple):
    """Differences between neighbouring rows of one series, in table order."""

    step: Floats
    #: False where a new series begins
    inside: np.ndarray
    codes: np.ndarray
    order: np.ndarray


def _steps(usage: pd.DataFrame) -> _Steps:
    codes = pd.factorize(usage["series_id"])[0]
    times = numbers(usage, "time_s")
    order = np.arange(len(codes))
    if np.any(np.diff(codes) < 0):
        order = np.argsort(codes, kind="stable")
    step = np.diff(times[order])
    return _Steps(step, np.diff(codes[order]) == 0, codes, order)


@check("series-goes-back", "usage.series_id", "usage.time_s")
def series_goes_back(subject: LintSubject) -> Iterator[LintFinding]:
    """Series whose clock runs backwards."""
    found = _steps(subject.usage)
    back = _marked(found, found.inside & (found.step < 0))
    yield from subject.marked(
        "usage.time_s",
        back,
        "warning",
        "{n} samples ({share}) are earlier than the one before them in the same series: a "
        "clock that was set back, or rows out of order. Rates and phases computed in this "
        "order are wrong there.",
        "Sort by series_id and time_s if only the order is off; else cut the series at the jump.",
    )


@check("repeated-sample", "usage.series_id", "usage.time_s")
def repeated_sample(subject: LintSubject) -> Iterator[LintFinding]:
    """Several samples of one series at the same time."""
    usage = subject.usage
    repeats = usage.duplicated(["series_id", "time_s"]).to_numpy()
    yield from subject.marked(
        "usage.time_s",
        repeats,
        "warning" if repeats.mean() >= 0.001 else "info",
        "{n} samples ({share}) have the series and time of another: written twice, several "
        "devices under one id, or a clock that was set back and ran over the same hour.",
        "Add the device to series_id, or keep one sample per time.",
    )


@check("series-gap", "usage.series_id", "usage.time_s")
def series_gap(subject: LintSubject) -> Iterator[LintFinding]:
    """Holes in a series, and jumps of its clock."""
    found = _steps(subject.usage)
    forward = found.step[found.inside & (found.step > 0)]
    if len(forward) < 10:
        return
    usual = float(np.median(forward))
    jump = found.inside & (found.step > 1000 * usual) & (found.step > 30 * _DAY_S)
    if jump.any():
        yield from subject.marked(
            "usage.time_s",
            _marked(found, jump),
            "warning",
            f"{{n}} times a series jumps by more than 30 days, up to "
            f"{found.step[jump].max() / _DAY_S:,.0f} days, where samples are {usual:,.3g} s apart: "
            "the clock jumped, or two runs share an id.",
            "Cut the series at the jump and give the parts their own series_id.",
        )
    gap = found.inside & (found.step > 10 * usual) & ~jump
    if gap.any():
        lost = float(found.step[gap].sum() / found.step[found.inside & ~jump].clip(0).sum())
        yield from subject.marked(
            "usage.time_s",
            _marked(found, gap),
            "info",
            f"{{n}} gaps of more than ten steps (a step is {usual:,.3g} s); they make up "
            f"{units.percent(lost)} of the time covered.",
            "Do not interpolate over them; treat what follows as a new beginning.",
        )


@check("short-series", "usage.series_id")
def short_series(subject: LintSubject) -> Iterator[LintFinding]:
    """Series with too few samples to say anything."""
    codes = pd.factorize(subject.usage["series_id"])[0]
    lengths = np.bincount(codes[codes >= 0])
    short = lengths < SHORT
    if short.any():
        share = float(short.mean())
        few = np.isin(codes, np.flatnonzero(short))
        yield from subject.marked(
            "usage.series_id",
            few & ~pd.Series(codes).duplicated().to_numpy(),
            "warning" if share >= 0.25 else "info",
            f"{int(short.sum()):,} of {len(lengths):,} series ({units.percent(share)}) have fewer "
            f"than {SHORT} samples. Phases and forecasts learned from them are noise.",
            "Leave them out of training, or sample more often.",
            of=len(lengths),
        )


def _marked(found: _Steps, steps: np.ndarray) -> np.ndarray:
    """Turn a mark per step into a mark per row: the later row of the step."""
    rows = np.zeros(len(found.codes), dtype=bool)
    rows[found.order[1:][steps]] = True
    return rows
