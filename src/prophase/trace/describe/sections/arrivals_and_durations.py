"""How jobs come and how long they take: arrivals, run times, waits, classes, recurrence."""

from __future__ import annotations

import math

import numpy as np

from prophase import units
from prophase.plural import counted
from prophase.result import Block, Bullets, Row, Table
from prophase.trace.describe.arrivals import Arrivals
from prophase.trace.describe.distribution import DurationSummary, Waits
from prophase.trace.describe.job_classes import Classes, JobClassSummary
from prophase.trace.describe.recurrence import Recurrence
from prophase.trace.describe.sections import percent
from prophase.trace.describe.trace_clock import WEEKDAYS, knows_weekdays

MOST_CLASSES = 15
#: a key with more jobs than this per value hardly names "the same job"
_COARSE = 100


def arrival_blocks(arrivals: Arrivals) -> list[Block]:
    """Say how fast jobs arrive, when, and how bursty that is."""
    said = []
    if arrivals.basis == "start_s":
        said.append("No submit times: these are starts, which lag behind arrivals by the wait.")
    said.append(
        f"{arrivals.count:,} {'starts' if arrivals.basis == 'start_s' else 'arrivals'}, "
        f"{units.number(arrivals.per_hour)} per hour on average"
        + (
            f"; {counted(arrivals.missing, 'job has', 'jobs have')} no such time."
            if arrivals.missing
            else "."
        )
    )
    if arrivals.together:
        said.append(
            f"{counted(arrivals.together, 'more row')} came with another of the same job "
            "(parent_id) and count with it."
        )
    said += _rhythm(arrivals)
    said.append(
        f"Gaps between arrivals: median {units.duration(arrivals.gaps.at('p50'))}, mean "
        f"{units.duration(arrivals.gaps.mean)}, squared coefficient of variation "
        f"{units.number(arrivals.gaps.scv)} (1 would be Poisson)."
    )
    if arrivals.simultaneous_share > 0:
        said.append(
            f"{units.percent(arrivals.simultaneous_share)} arrive at the same instant as another."
        )
    widest = arrivals.dispersion[-1] if arrivals.dispersion else None
    if widest is not None:
        said.append(
            f"Counts per {_width(widest.width_s)} vary {units.number(widest.dispersion)} times as "
            f"much as Poisson counts would ({_burst_word(widest.dispersion)})."
        )
    rows = tuple(
        {
            "window": _width(window.width_s),
            "windows": window.windows,
            "mean": window.mean,
            "peak": window.peak,
            "dispersion": window.dispersion,
        }
        for window in arrivals.dispersion
    )
    caption = "Arrivals per window; dispersion is variance over mean, 1 for Poisson"
    return [Bullets(said), *([Table("arrivals", rows, caption)] if rows else [])]


def _rhythm(arrivals: Arrivals) -> list[str]:
    hours = np.array(arrivals.by_hour)
    if np.isnan(hours).any() or hours.min() == hours.max():
        return []
    top, low = int(hours.argmax()), int(hours.argmin())
    known = knows_weekdays(arrivals.clock)
    said = [
        f"The busiest hour of the day is {top:02d}:00 with {units.number(hours[top])} per hour, "
        f"the calmest {low:02d}:00 with {units.number(hours[low])}"
        + ("." if known else " (hours count from the trace's own zero).")
    ]
    days = np.array(arrivals.by_weekday)
    if known and not np.isnan(days).any():
        weekend, week = days[5:].mean(), days[:5].mean()
        top = int(days.argmax())
        said.append(
            f"The busiest day is {WEEKDAYS[top]} ({units.number(24 * days[top])} per day); "
            "weekends "
            f"bring {units.percent(weekend / week) if week else '-'} of a weekday's arrivals."
        )
    return said


def _width(seconds: float) -> str:
    names = {60.0: "minute", 600.0: "10 minutes", 3600.0: "hour", 21600.0: "6 hours"}
    return names.get(seconds, "day")


def _burst_word(dispersion: float) -> str:
    if dispersion < 0.8:
        return "steadier than random"
    return "about random" if dispersion < 1.5 else "bursty" if dispersion < 10 else "very bursty"


def duration_blocks(durations: DurationSummary) -> list[Block]:
    """Say how long jobs run."""
    said = _time_sentences(durations, "ran")
    zeros = durations.values.zeros
    if zeros:
        share = units.percent(zeros / durations.values.count)
        said.append(f"{counted(zeros, 'job')} ({share}) ran for 0 s.")
    return [Bullets(said), _time_table("durations", durations, "Run times in seconds")]


def wait_blocks(waits: Waits) -> list[Block]:
    """Say how long jobs wait."""
    said = _time_sentences(waits, "waited")
    said.append(f"{units.percent(waits.values.zeros / waits.values.count)} did not wait at all.")
    if math.isfinite(waits.mostly_waiting_share):
        said.append(
            f"{units.percent(waits.mostly_waiting_share)} spent more than half of their completion "
            "time waiting."
        )
    return [Bullets(said), _time_table("waits", waits, "Waits in seconds")]


def _time_sentences(times: DurationSummary, verb: str) -> list[str]:
    values = times.values
    said = [
        f"Half of the jobs {verb} for at most {units.duration(values.at('p50'))}, 90 % for at most "
        f"{units.duration(values.at('p90'))}, 99 % for at most "
        f"{units.duration(values.at('p99'))}; the mean is {units.duration(values.mean)}."
    ]
    if math.isfinite(times.longest_share):
        said.append(f"The longest 1 % take {units.percent(times.longest_share)} of all that time.")
    if values.missing:
        said.append(f"{counted(values.missing, 'job has', 'jobs have')} no {times.column}.")
    return said


def _time_table(key: str, times: DurationSummary, caption: str) -> Table:
    return Table(key, [{"column": times.column, **times.values.row}], caption)


def class_blocks(classes: Classes) -> list[Block]:
    """Compare the job classes."""
    limits = []
    if "length" in classes.by:
        limits.append(f"short: ran for less than {units.duration(classes.short_below_s)}")
    if "gpus" in classes.by:
        limits.append(f"low GPU: asks for at most {units.number(classes.low_gpus)} in total")
    said = [
        f"Classes by {' x '.join(classes.by)}" + (f" ({'; '.join(limits)})." if limits else ".")
    ]
    has_waits = any(kind.wait.count for kind in classes.classes)
    rows = []
    for kind in classes.classes[:MOST_CLASSES]:
        row = {
            "class": kind.name,
            "jobs": kind.jobs,
            "share_pct": percent(kind.share),
            "gpu_hours": kind.gpu_hours,
            "run_p50_s": kind.duration.at("p50"),
            "run_p90_s": kind.duration.at("p90"),
        }
        if has_waits:
            row |= {"wait_p50_s": kind.wait.at("p50"), "wait_p90_s": kind.wait.at("p90")}
        if "gpus" not in classes.by:
            del row["gpu_hours"]
        rows.append(row)
    rest = len(classes.classes) - len(rows)
    if rest:
        said.append(f"The {rest} smallest classes are left out of the table.")
    top = classes.classes[0]
    said.append(f"The largest is {top.name} with {units.percent(top.share)} of the jobs.")
    by_time = max(classes.classes, key=lambda kind: np.nan_to_num(kind.gpu_hours))
    total = sum(np.nan_to_num(kind.gpu_hours) for kind in classes.classes)
    if total > 0:
        said.append(
            f"{by_time.name} takes most GPU time: {units.percent(by_time.gpu_hours / total)} of it "
            f"with {units.percent(by_time.share)} of the jobs."
        )
    return [Bullets(said), Table("classes", rows, "Job classes"), *_more_of_classes(classes)]


def _more_of_classes(classes: Classes) -> list[Block]:
    """Show run times as a distribution and the week of each class, and of each framework."""
    found: list[Block] = []
    for name, kinds, caption in (
        ("class_curves", classes.classes[:MOST_CLASSES], "class"),
        ("frameworks", classes.frameworks, "framework"),
    ):
        rows = [_curve_row(kind, caption) for kind in kinds if kind.duration.count]
        if rows:
            words = f"Run times by {caption}, and when its jobs come, in % of them"
            found.append(Table(name, rows, words))
    return found


def _curve_row(kind: JobClassSummary, caption: str) -> Row:
    shares = ("p10", "p25", "p50", "p75", "p90", "p99")
    return {
        caption: kind.name,
        "jobs": kind.jobs,
        **{f"run_{share}": units.duration(kind.duration.at(share)) for share in shares},
        **{
            f"{day}_pct": percent(share)
            for day, share in zip(WEEKDAYS, kind.by_weekday, strict=False)
        },
    }


def recurrence_blocks(recurrence: Recurrence) -> list[Block]:
    """Say how often jobs come back and how alike they are then."""
    best = recurrence.best
    said = [
        f"{units.percent(best.seen_before_share)} of the jobs have a key ({recurrence.key}) that "
        "was "
        f"seen before, in order of {recurrence.order}; {units.percent(best.often_share)} have one "
        "that occurs at least five times."
    ]
    if math.isfinite(best.like_last_share):
        said.append(
            f"When a key comes back, {units.percent(best.like_last_share)} run within a factor "
            "of two of the last time."
        )
    if best.distinct and best.jobs / best.distinct > _COARSE:
        said.append(
            f"The key is coarse ({units.number(best.jobs / best.distinct)} jobs per value), so "
            "this is not proof that the same job comes back."
        )
    if len(recurrence.seen_before) >= 4:
        quarter = len(recurrence.seen_before) // 4
        weights = np.array(recurrence.jobs[-quarter:])
        late = float(np.average(recurrence.seen_before[-quarter:], weights=weights))
        said.append(f"In the last quarter of the trace it is {units.percent(late)}.")
    rows = tuple(
        {
            "key": key.key,
            "jobs": key.jobs,
            "distinct": key.distinct,
            "seen_before_pct": percent(key.seen_before_share),
            "at_least_5_pct": percent(key.often_share),
            "like_last_pct": percent(key.like_last_share),
        }
        for key in recurrence.keys
    )
    return [Bullets(said), Table("recurrence", rows, "Keys, most specific first")]
