"""Run times that are zero, negative, absurd, or that contradict start and end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from prophase import units
from prophase.trace.lint.check_registry import LintFinding, LintSubject, check, numbers
from prophase.trace.text_table import BAD

_YEAR_S = 365.25 * 86400
_TOLERATED = 0.01
#: a few zero run times are rounding
_FEW_ZEROS = 0.001
#: unit mistakes: duration / (end - start) -> what the duration seems to be in
_FACTORS = {
    1e9: "nanoseconds",
    1e6: "microseconds",
    1e3: "milliseconds",
    1 / 60: "minutes",
    1 / 3600: "hours",
    1 / 86400: "days",
}


@check("zero-duration", "jobs.duration_s")
def zero_duration(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that ran for no time at all."""
    zero = numbers(subject.jobs, "duration_s") == 0
    yield from subject.marked(
        "jobs.duration_s",
        zero,
        "warning" if zero.mean() >= _FEW_ZEROS else "info",
        "{n} jobs ({share}) ran for 0 s: below the clock's resolution, never started, or not "
        "known and written as 0. Relative errors and logarithms break on them.",
        "Leave them out with --keep positive-duration when you import, or say what they mean.",
    )


@check("negative-duration")
def negative_duration(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs with a run time below zero."""
    count = subject.counts.get("jobs")
    left_out = count.dropped.get(f"{BAD}duration_s is negative", 0) if count else 0
    if count and left_out:
        share = left_out / count.read
        yield LintFinding(
            "warning" if share <= _TOLERATED else "error",
            "jobs",
            f"{left_out:,} of {count.read:,} rows ({units.percent(share)}) have a run time below "
            "zero, that is an end before the start. The import left them out.",
            "Check whether start and end are swapped, come from two clocks, or lie on both sides "
            "of a clock change.",
            column="duration_s",
            rows=left_out,
            share=share,
        )
    if subject.has("jobs.duration_s"):
        negative = numbers(subject.jobs, "duration_s") < 0
        yield from subject.marked(
            "jobs.duration_s",
            negative,
            "error",
            "{n} jobs ({share}) have a run time below zero.",
            "Correct start and end, or leave these rows out.",
        )


@check("absurd-duration", "jobs.duration_s")
def absurd_duration(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that ran for more than a year."""
    duration = numbers(subject.jobs, "duration_s")
    long = duration > _YEAR_S
    if not long.any():
        return
    worst = float(np.nanmax(duration)) / _YEAR_S
    sure = worst > 50 and long.mean() > _TOLERATED
    yield from subject.marked(
        "jobs.duration_s",
        long,
        "error" if sure else "warning",
        f"{{n}} jobs ({{share}}) ran for more than a year, the longest for {worst:,.1f} years. "
        "Milliseconds read as seconds, an end time that stands for 'still running', or services "
        "among the jobs.",
        "Check the unit of the run time and what the source writes as the end of a running job.",
    )


@check("duration-unit", "jobs.duration_s", "jobs.start_s", "jobs.end_s")
def duration_unit(subject: LintSubject) -> Iterator[LintFinding]:
    """Run times in another unit than start and end."""
    ratio, known = _duration_against_clock(subject)
    if known.sum() < 5:
        return
    for factor, unit in _FACTORS.items():
        off = known & (np.abs(ratio / factor - 1) < 0.02)
        # a single row may hit a factor by accident
        if off.sum() >= 5 and off.sum() >= 0.05 * known.sum():
            yield from subject.marked(
                "jobs.duration_s",
                off,
                "error",
                f"{{n}} jobs ({{share}} of those with both) have a duration of {factor:g} times "
                f"end - start: it is in {unit}, not seconds.",
                f"Convert the duration from {unit} to seconds, or drop it: it follows from start "
                "and end.",
                of=int(known.sum()),
            )


@check("duration-disagrees", "jobs.duration_s", "jobs.start_s", "jobs.end_s")
def duration_disagrees(subject: LintSubject) -> Iterator[LintFinding]:
    """Run times that are not end minus start."""
    ratio, known = _duration_against_clock(subject)
    clock = numbers(subject.jobs, "end_s") - numbers(subject.jobs, "start_s")
    duration = numbers(subject.jobs, "duration_s")
    with np.errstate(invalid="ignore"):
        off = known & (np.abs(duration - clock) > np.maximum(2.0, 0.01 * clock))
        wrong_unit = np.any([np.abs(ratio / factor - 1) < 0.02 for factor in _FACTORS], axis=0)
    off &= ~wrong_unit
    # rounding of very short jobs is no disagreement worth a warning
    share = off.sum() / max(int(known.sum()), 1)
    yield from subject.marked(
        "jobs.duration_s",
        off,
        "warning" if share >= 0.001 else "info",
        "{n} jobs ({share} of those with both) have a duration that differs from end - start "
        "by more than 2 s and 1%: pauses left out, a wait counted in, or two clocks.",
        "Find out which of the two the source measures, and use that one everywhere.",
        of=int(known.sum()),
    )


def _duration_against_clock(subject: LintSubject) -> tuple[np.ndarray, np.ndarray]:
    """Return duration / (end - start), and where both are known."""
    clock = numbers(subject.jobs, "end_s") - numbers(subject.jobs, "start_s")
    duration = numbers(subject.jobs, "duration_s")
    known = (clock > 0) & (duration > 0)
    ratio = np.divide(duration, clock, out=np.ones_like(clock), where=known)
    return ratio, known
