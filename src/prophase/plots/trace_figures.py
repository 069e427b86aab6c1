"""Every figure of a description, by name, in the order they are shown."""

from __future__ import annotations

from collections.abc import Iterator

from prophase.plots import arrivals, distributions, trace_contents
from prophase.result import Picture
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.description import Description

_MOST_METRICS = 8


def trace_figures(found: Description) -> Iterator[Picture]:
    """Yield the figures that the description has numbers for, one at a time."""
    yield from _arrivals(found)
    yield from _times(found)
    yield from _classes(found)
    yield from _use(found)
    yield from _laws(found)
    yield from _contents(found)


def _arrivals(found: Description) -> Iterator[Picture]:
    part = found.arrivals
    if isinstance(part, NotComputable):
        return
    what = "Arrivals" if part.basis == "submit_s" else "Starts (there are no submit times)"
    chapter = "arrivals"
    yield Picture(
        "arrivals-over-time",
        arrivals.arrivals_over_time(part),
        f"{what} over the whole trace.",
        section=chapter,
    )
    yield Picture(
        "arrivals-by-hour",
        arrivals.arrivals_by_hour(part),
        f"{what} per hour by hour of the day, mean over all days.",
        section=chapter,
    )
    yield Picture(
        "arrivals-by-weekday",
        arrivals.arrivals_by_weekday(part),
        f"{what} per day by day of the week.",
        section=chapter,
    )
    if len(part.dispersion) > 1:
        yield Picture(
            "burstiness",
            arrivals.burstiness(part),
            "Variance over mean of counts in windows of growing width; Poisson arrivals stay at 1.",
            section=chapter,
        )


def _times(found: Description) -> Iterator[Picture]:
    for part, chapter, what in (
        (found.durations, "durations", "run time"),
        (found.waits, "waits", "wait"),
    ):
        if isinstance(part, NotComputable) or not part.histogram.counts:
            continue
        name = what.replace(" ", "-")
        yield Picture(
            f"{name}-histogram",
            distributions.time_histogram(part, what=what),
            f"How many jobs had which {what}; bins of equal width on the log scale.",
            section=chapter,
        )
        yield Picture(
            f"{name}-cdf",
            distributions.time_cdf(part, what=what),
            f"Share of all jobs with at most this {what}.",
            section=chapter,
        )


def _classes(found: Description) -> Iterator[Picture]:
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
            yield Picture(name, figure, caption, section="classes")


def _use(found: Description) -> Iterator[Picture]:
    part = found.utilisation
    if not isinstance(part, NotComputable):
        yield Picture(
            "use-over-request",
            trace_contents.use_over_request(part),
            "Share of jobs that used at most this part of their request.",
            section="utilisation",
        )
        for column in ("task", "workload"):
            if any(len(getattr(r, f"by_{column}")) > 1 for r in part.resources):
                caption = f"Utilisation by {column}, the largest allocations."
                figure = trace_contents.utilisation_by(part, column)
                yield Picture(f"utilisation-by-{column}", figure, caption, section="utilisation")
    recurrence = found.recurrence
    if not isinstance(recurrence, NotComputable) and len(recurrence.starts) > 1:
        yield Picture(
            "recurrence",
            trace_contents.recurrence_over_time(recurrence, found.clock),
            f"Share of jobs per {recurrence.period} whose {recurrence.key} was seen before.",
            section="recurrence",
        )


def _laws(found: Description) -> Iterator[Picture]:
    arriving = found.arrival_laws
    if not isinstance(arriving, NotComputable):
        yield Picture(
            "arrival-laws",
            distributions.arrival_law_distances(arriving),
            "How far each arrival law is from the gaps seen; dashed: limits of good and rough. "
            "Unexplained bursts can make a close law bad.",
            section="arrival_laws",
        )
    serving = found.service_laws
    if not isinstance(serving, NotComputable):
        yield Picture(
            "run-time-laws",
            distributions.law_curves(serving),
            "Distribution of the run times above zero, and the laws fitted to it.",
            section="service_laws",
        )
        yield Picture(
            "run-time-qq",
            distributions.law_qq(serving),
            "Run times seen against those a law expects: a right law lies on the diagonal.",
            section="service_laws",
        )


def _contents(found: Description) -> Iterator[Picture]:
    if not isinstance(found.usage, NotComputable):
        for metric in found.usage.metrics[:_MOST_METRICS]:
            yield Picture(
                f"usage-{metric.name.replace('_', '-')}",
                trace_contents.metric_curve(metric),
                f"Distribution of {metric.name} over all samples of all series.",
                section="usage",
            )
    if not isinstance(found.nodes, NotComputable) and found.nodes.types:
        yield Picture(
            "nodes",
            trace_contents.nodes_by_type(found.nodes),
            "Number of nodes of each kind.",
            section="nodes",
        )
    if any(column.missing for column in found.missing):
        yield Picture(
            "missing-values",
            trace_contents.missing_values(found.missing),
            "Share of rows without a value, per column that lacks some.",
            section="missing",
        )
