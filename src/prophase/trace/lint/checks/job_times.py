"""Times of jobs: in the wrong order, on the wrong clock, or cut off by the end of the trace."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from prophase import units
from prophase.trace.lint.check_registry import LintFinding, LintSubject, check, numbers
from prophase.trace.row_rules import CLOCK_STEP_S

_CLOCKS = ("submit_s", "start_s", "end_s")
#: seconds since 1970 reach this in the year 5138; milliseconds did in 1973
SURELY_NOT_SECONDS = 1e11
_DECADE_S = 10 * 365.25 * 86400
_DAY_S = 86400.0
_YEAR_2001 = 1e9
#: share of running jobs that starts to bend statistics of run time
_CENSORED = 0.01


@check("start-before-submit", "jobs.submit_s", "jobs.start_s")
def start_before_submit(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that start before they were submitted."""
    jobs = subject.jobs
    submit, start = numbers(jobs, "submit_s"), numbers(jobs, "start_s")
    early = start < submit - CLOCK_STEP_S
    if early.any():
        known = int(np.sum(~np.isnan(submit) & ~np.isnan(start)))
        worst = float(np.nanmax((submit - start)[early]))
        yield from subject.marked(
            "jobs.start_s",
            early,
            "error" if early.sum() > 0.5 * known and known >= 10 else "warning",
            f"{{n}} jobs ({{share}}) start before they were submitted, by up to {worst:,.0f} s. "
            "Their wait is unknown: two clocks, a resubmission that kept its first start, or "
            "swapped columns.",
            "An import leaves the wait of such rows missing. Do not use their submit time to "
            "order events.",
            of=known,
        )


@check("end-before-start", "jobs.start_s", "jobs.end_s")
def end_before_start(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that end before they start."""
    jobs = subject.jobs
    backwards = numbers(jobs, "end_s") < numbers(jobs, "start_s") - CLOCK_STEP_S
    yield from subject.marked(
        "jobs.end_s",
        backwards,
        "error",
        "{n} jobs ({share}) end before they start. Nothing computed from these times holds.",
        "Check whether the columns are swapped, or the end is a placeholder for 'not ended'.",
    )


@check("clock-unit", "jobs")
def clock_unit(subject: LintSubject) -> Iterator[LintFinding]:
    """Times that can only be milliseconds or finer."""
    for column in _CLOCKS:
        times = numbers(subject.jobs, column)
        far = np.abs(times) > SURELY_NOT_SECONDS
        known = int(np.sum(~np.isnan(times)))
        yield from subject.marked(
            f"jobs.{column}",
            far,
            "error" if far.sum() > 0.5 * known else "warning",
            "{n} times ({share} of those known) lie beyond 1e11, the year 5138 if they were "
            "seconds: they are in milliseconds or finer, or placeholders.",
            "Divide milliseconds by 1,000 before you import, or give the unit in the mapping.",
            of=known,
        )


@check("clock-outlier", "jobs")
def clock_outlier(subject: LintSubject) -> Iterator[LintFinding]:
    """Single times many years away from all others."""
    for column in _CLOCKS:
        times = numbers(subject.jobs, column)
        known = ~np.isnan(times)
        if known.sum() < 5:
            continue
        middle = np.median(times[known])
        low, high = np.quantile(times[known], [0.1, 0.9])
        reach = max(_DECADE_S, 10 * (high - low))
        far = np.abs(times - middle) > reach
        if far.any() and far.sum() <= 0.1 * known.sum():
            yield from subject.marked(
                f"jobs.{column}",
                far,
                "warning",
                f"{{n}} times ({{share}}) are more than {reach / _DECADE_S * 10:,.0f} years away "
                "from the rest: a clock jump, or 0 and the like written for 'unknown'.",
                "Set them to missing; they stretch the trace's span and empty every rate.",
                of=int(known.sum()),
            )


@check("future-time", "jobs")
def future_time(subject: LintSubject) -> Iterator[LintFinding]:
    """Times that have not come yet."""
    latest = time.time() + _DAY_S
    for column in _CLOCKS:
        times = numbers(subject.jobs, column)
        known = ~np.isnan(times)
        if not known.any():
            continue
        # a clock with a zero of its own has no now, unless its times look like those since 1970
        dated = subject.clock != "relative" or np.median(times[known]) > _YEAR_2001
        if not dated:
            continue
        ahead = (times > latest) & (times <= SURELY_NOT_SECONDS)
        yield from subject.marked(
            f"jobs.{column}",
            ahead,
            "error" if ahead.sum() > 0.5 * known.sum() else "warning",
            "{n} times ({share} of those known) lie in the future: a wrong clock or unit, "
            "a planned time, or a placeholder for 'not ended'.",
            "Correct the clock or the unit, or set such times to missing.",
            of=int(known.sum()),
        )


@check("unsorted-jobs", "jobs.submit_s")
def unsorted_jobs(subject: LintSubject) -> Iterator[LintFinding]:
    """Job rows that are not in order of submission."""
    submit = numbers(subject.jobs, "submit_s")
    back = np.zeros(len(submit), dtype=bool)
    back[1:] = np.diff(submit) < 0
    yield from subject.marked(
        "jobs.submit_s",
        back,
        "info",
        "{n} rows ({share}) were submitted before the row above them. That is normal for a "
        "log written at the end of jobs.",
        "Sort by submit_s before you cut the table by position.",
    )


@check("silent-period", "jobs.submit_s")
def silent_period(subject: LintSubject) -> Iterator[LintFinding]:
    """Long stretches without any submission."""
    submit = np.sort(numbers(subject.jobs, "submit_s"))
    submit = submit[~np.isnan(submit)]
    if len(submit) < 100:
        return
    gaps = np.diff(submit)
    span = submit[-1] - submit[0]
    usual = np.quantile(gaps, 0.99)
    silent = (gaps > 100 * max(usual, 1.0)) & (gaps > _DAY_S) & (gaps > 0.05 * span)
    if silent.any():
        longest = gaps[silent].max()
        yield LintFinding(
            "info",
            "jobs",
            f"No job was submitted for {longest / _DAY_S:,.1f} days, while 99% of the gaps are "
            f"below {usual:,.0f} s: missing files, an outage, a clock jump, or two periods in one.",
            "Cut the trace into periods, or leave the silent ones out of rates.",
            column="submit_s",
            rows=int(silent.sum()),
            share=float(gaps[silent].sum() / span),
            where=tuple(f"after {start:,.0f} s" for start in submit[:-1][silent][:5]),
        )


@check("still-running", "jobs.start_s")
def still_running(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs whose end the trace does not show (censored)."""
    jobs = subject.jobs
    started = ~np.isnan(numbers(jobs, "start_s"))
    ended = ~np.isnan(numbers(jobs, "end_s"))
    if not ended.any():
        return  # a source without run times, not a job without an end
    running = started & ~ended
    if "status" in jobs:
        running |= jobs["status"].eq("running").to_numpy(dtype=bool, na_value=False)
    if running.any():
        share = running.mean()
        yield from subject.marked(
            "jobs.end_s",
            running,
            "warning" if share >= _CENSORED else "info",
            "{n} jobs ({share}) were still running when the trace ended. Their run time is only "
            "known to be longer than what was seen, and they are the long ones: leaving them out "
            "makes jobs look shorter than they are.",
            "Treat them as censored (survival estimates), or cut the trace early enough that all "
            "jobs submitted before the cut have ended.",
        )


@check("ends-at-trace-end", "jobs.end_s")
def ends_at_trace_end(subject: LintSubject) -> Iterator[LintFinding]:
    """Many jobs that end in the very last instant, as if cut off there."""
    end = numbers(subject.jobs, "end_s")
    known = ~np.isnan(end)
    if known.sum() < 50 or np.ptp(end[known]) <= 0:
        return
    at_end = end == np.nanmax(end)
    # gangs end together; other instants show how many do
    usual = np.unique(end[known & ~at_end], return_counts=True)[1]
    together = np.quantile(usual, 0.999) if len(usual) else 1.0
    if at_end.sum() >= max(5, 3 * together, 0.005 * known.sum()):
        yield from subject.marked(
            "jobs.end_s",
            at_end,
            "warning",
            f"{{n}} jobs ({{share}}) end in the last instant of the trace, while other instants "
            f"see at most about {together:,.0f}: their end was cut there, they were still running.",
            "Set their end to missing and treat them as censored; their run time is a lower bound.",
            of=int(known.sum()),
        )


@check("mended-rows", "counts")
def mended_rows(subject: LintSubject) -> Iterator[LintFinding]:
    """Rows that the import changed to make them usable."""
    for table, count in subject.counts.items():
        for what, rows in count.repaired.items():
            if what.startswith(("repeated job_id", "start before submit")):
                continue  # repeated-id and start-before-submit see those themselves
            share = rows / max(count.kept, 1)
            yield LintFinding(
                "info",
                table,
                f"The import mended {rows:,} rows ({units.percent(share)}): {what}.",
                "Nothing, if that is what you want; the source still has the original values.",
                rows=rows,
                share=share,
            )
