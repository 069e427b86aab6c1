"""Results with their figures, which are drawn only when somebody looks at a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prophase.result import Picture, Result

if TYPE_CHECKING:
    from prophase.sim.schedule import Schedule
    from prophase.sim.validation.wait_validation import Validation
    from prophase.sim.why.explanation import Why
    from prophase.trace.describe.description import Description


def with_trace_figures(result: Result, found: Description) -> Result:
    """Return a description's result with its figures."""

    def draw() -> Iterator[Picture]:
        from prophase.plots.trace_figures import trace_figures

        return trace_figures(found)

    return result.illustrated(draw)


def with_schedule_figures(
    result: Result, schedule: Schedule, *, by: str | None = None, clock: str = ""
) -> Result:
    """Return a schedule's result with its figures."""

    def draw() -> Iterator[Picture]:
        from prophase.plots.schedule_figures import schedule_figures

        return schedule_figures(schedule, by=by, clock=clock)

    return result.illustrated(draw)


def with_why_figures(result: Result, why: Why) -> Result:
    """Return the answer to why jobs wait with its figures."""

    def draw() -> Iterator[Picture]:
        from prophase.plots.why import why_figures

        return why_figures(why)

    return result.illustrated(draw)


def with_validation_figures(result: Result, found: Validation) -> Result:
    """Return a validation's result with its figures."""

    def draw() -> Iterator[Picture]:
        from prophase.plots.validation import validation_figures

        return validation_figures(found)

    return result.illustrated(draw)
