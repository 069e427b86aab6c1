"""Every figure of a description, by name, in the order they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from prophase.plots import arrivals, distributions, trace_contents
from prophase.plots.style import save
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.description import Description

_MOST_METRICS = 8


@dataclass(frozen=True)
class TraceFigure:
    """A figure, the chapter it belongs to, and what it shows."""

    name: str
    chapter: str
    caption: str
    figure: Figure


def trace_figures(found: Description) -> Iterator[TraceFigure]:
    """Yield the figures that the description has numbers for, one at a time."""
    yield from _arrivals(found)
    yield from _times(found)
    yield from _classes(found)
    yield from _use(found)
    yield from _laws(found)
    yield from _contents(found)


def write_figures(found: Description, folder: Path) -> list[str]:
    """Write every figure as PNG and SVG and return their names."""
    names = []
    for item in trace_figures(found):
        save(item.figure, folder, item.name)
        names.append(item.name)
    return names


def _arrivals(found: Description) -> Iterator[TraceFigure]:
    part = found.arrivals
    if isinstance(part, NotComputable):
        return
    what = "Arrivals" if part.basis == "submit_s" else "Starts (there are no submit times)"
    chapter = "arrivals"
    yield TraceFigure(
        "arrivals-over-time",
        chapter,
        f"{what} over the whole trace.",
        arrivals.arrivals_over_time(part),
    )
    yield TraceFigure(
        "arrivals-by-hour",
        chapter,
        f"{what} per hour by hour of the day, mean over all days.",
        arrivals.arrivals_by_hour(part),
    )
    yield TraceFigure(
        "arrivals-by-weekday",
        chapter,
        f"{what} per day by day of the week.",
        arrivals.arrivals_by_weekday(part),
    )
    if len(part.dispersion) > 1:
        yield TraceFigure(
            "burstiness",
            chapter,
            "Variance over mean of counts in windows of growing width; Poisson arrivals stay at 1.",
            arrivals.burstiness(part),
        )


def _times(found: Description) -> Iterator[TraceFigure]:
    for part, chapter, what in (
        (found.durations, "durations", "run time"),
        (found.waits, "waits", "wait"),
    ):
        if isinstance(part, NotComputable) or not part.histogram.counts:
            continue
        name = what.replace(" ", "-")
        yield TraceFigure(
            f"{name}-histogram",
            chapter,
            f"How many jobs had which {what}; bins of equal width on the log scale.",
            distributions.time_histogram(part, what=what),
        )
        yield TraceFigure(
            f"{name}-cdf",
            chapter,
            f"Share of all jobs with at most this {what}.",
            distributions.time_cdf(part, what=what),
        )


def _classes(found: Description) -> Iterator[TraceFigure]:
    part = found.classes
    if isinstance(part, NotComputable):
        return
    drawn = (
        ("run-time-by-gpus", "run time", "Run time by GPUs asked for", part.duration_by_gpus),
        ("run-time-by-workload", "run time", "Run time by workload", part.duration_by_workload),
        ("wait-by-class", "wait", "Wait by class", part.wait_by_class),
    )
    for name, what, title, found_curves in drawn:
        positive = any(value > 0 for curve in found_curves.values() for value in curve.values)
        if len(found_curves) > 1 and positive:
            caption = f"{title}; the number of jobs is in brackets."
            figure = distributions.curves(found_curves, what=what, title=title)
            yield TraceFigure(name, "classes", caption, figure)


def _use(found: Description) -> Iterator[TraceFigure]:
    part = found.utilisation
    if not isinstance(part, NotComputable):
        yield TraceFigure(
            "use-over-request",
            "utilisation",
            "Share of jobs that used at most this part of their request.",
            trace_contents.use_over_request(part),
        )
        for column in ("task", "workload"):
            if any(len(getattr(r, f"by_{column}")) > 1 for r in part.resources):
                caption = f"Utilisation by {column}, the largest allocations."
                figure = trace_contents.utilisation_by(part, column)
                yield TraceFigure(f"utilisation-by-{column}", "utilisation", caption, figure)
    recurrence = found.recurrence
    if not isinstance(recurrence, NotComputable) and len(recurrence.starts) > 1:
        yield TraceFigure(
            "recurrence",
            "recurrence",
            f"Share of jobs per {recurrence.period} whose {recurrence.key} was seen before.",
            trace_contents.recurrence_over_time(recurrence, found.clock),
        )


def _laws(found: Description) -> Iterator[TraceFigure]:
    arriving = found.arrival_laws
    if not isinstance(arriving, NotComputable):
        yield TraceFigure(
            "arrival-laws",
            "arrival_laws",
            "How far each arrival law is from the gaps seen; dashed: limits of good and rough. "
            "Unexplained bursts can make a close law bad.",
            distributions.arrival_law_distances(arriving),
        )
    serving = found.service_laws
    if not isinstance(serving, NotComputable):
        yield TraceFigure(
            "run-time-laws",
            "service_laws",
            "Distribution of the run times above zero, and the laws fitted to it.",
            distributions.law_curves(serving),
        )
        yield TraceFigure(
            "run-time-qq",
            "service_laws",
            "Run times seen against those a law expects: a right law lies on the diagonal.",
            distributions.law_qq(serving),
        )


def _contents(found: Description) -> Iterator[TraceFigure]:
    if not isinstance(found.usage, NotComputable):
        for metric in found.usage.metrics[:_MOST_METRICS]:
            yield TraceFigure(
                f"usage-{metric.name.replace('_', '-')}",
                "usage",
                f"Distribution of {metric.name} over all samples of all series.",
                trace_contents.metric_curve(metric),
            )
    if not isinstance(found.nodes, NotComputable) and found.nodes.types:
        yield TraceFigure(
            "nodes",
            "nodes",
            "Number of nodes of each kind.",
            trace_contents.nodes_by_type(found.nodes),
        )
    if any(column.missing for column in found.missing):
        yield TraceFigure(
            "missing-values",
            "missing",
            "Share of rows without a value, per column that lacks some.",
            trace_contents.missing_values(found.missing),
        )
