"""A description in words and tables, the same for text, JSON readers and pages."""

from __future__ import annotations

from prophase.trace.describe.chapters.arrivals_and_durations import (
    tell_arrivals,
    tell_classes,
    tell_durations,
    tell_recurrence,
    tell_waits,
)
from prophase.trace.describe.chapters.chapter import Chapter
from prophase.trace.describe.chapters.counts_and_nodes import (
    tell_counts,
    tell_missing,
    tell_nodes,
    tell_usage,
)
from prophase.trace.describe.chapters.requests_and_laws import (
    tell_arrival_laws,
    tell_requests,
    tell_service_laws,
    tell_utilisation,
)
from prophase.trace.describe.description import Description


def chapters_of(found: Description) -> list[Chapter]:
    """Return the chapters of a description in reading order.

    Parts of a table the trace does not have are left out; parts that the table's columns do
    not allow stay, with their reason.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.trace import Trace
    >>> from prophase.trace.describe.description import describe
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "duration_s": [60.0, 7200.0]})
    >>> chapters = chapters_of(describe(Trace({"jobs": jobs}, "csv", "0" * 64)))
    >>> chapters[0].sentences[0], chapters[1].silent
    ('2 jobs.', 'no submit times')
    """
    chapters = []
    if "jobs" in found.tables:
        chapters += [
            tell_counts(found.counts, found.span),
            tell_arrivals(found.arrivals),
            tell_durations(found.durations),
            tell_waits(found.waits),
            tell_classes(found.classes),
            tell_requests(found.requests),
            tell_utilisation(found.utilisation),
            tell_recurrence(found.recurrence),
            tell_arrival_laws(found.arrival_laws),
            tell_service_laws(found.service_laws),
        ]
    if "usage" in found.tables:
        chapters.append(tell_usage(found.usage))
    if "nodes" in found.tables:
        chapters.append(tell_nodes(found.nodes))
    chapters.append(tell_missing(found.missing))
    return chapters
