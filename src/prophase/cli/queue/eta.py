"""prophase queue eta: when will my job start?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, finite, progress_bar, show_result
from prophase.cli.queue.queue_options import (
    DrawsOption,
    JobArgument,
    TwinOptions,
    slurm_twin,
    twin_of,
)
from prophase.errors import InputError
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.sim.slurm.twin_check import TwinCheck


@dataclass(frozen=True)
class EtaOptions(TwinOptions):
    """Which queue is run forward, and from what; more futures, for the ends of an interval."""

    draws: DrawsOption = 60


def command(
    job: JobArgument,
    options: EtaOptions,
    check: Annotated[
        int, typer.Option(min=0, help="Past instants to check and widen intervals by; 0: none.")
    ] = 12,
    format: FormatOption = Format.table,
) -> None:
    """Say when a waiting job will start, with an interval that holds 80 % of such starts.

    The queue is run forward by the site's own rules, run times drawn from finished jobs like
    these. The same is first done for past instants of the history: intervals are fitted to what
    then happened, and if recent waits of jobs alike were as good a guess, no forecast is given.

    Examples:

    `prophase queue eta 4711 --history ws`

    `prophase queue eta 4711 --saved now --history sacct.psv`

    `prophase queue eta train-7 --kueue`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sim.forecast.past_forecasts import withheld
    from prophase.sim.kueue.kueue_twin import KueueTwin
    from prophase.sim.slurm.twin_check import check_twin

    with progress_bar() as progress:
        progress("looking at the queue", None)
        twin = twin_of(options)
        history, checked = options.history, None
        unchecked = "no history was given" if history is None else "not asked for"
        if isinstance(twin, KueueTwin):
            job, unchecked = twin.key_of(job), "that is done for Slurm alone"
        elif check and history is not None:
            progress("checking past forecasts", None)
            try:
                checked = check_twin(
                    open_trace(history, source=options.source).jobs,
                    slurm_twin(twin).snapshot,
                    instants=check,
                    random_state=options.seed,
                )
            except InputError as cause:
                unchecked = str(cause)
        progress("simulating futures", None)
        found = twin.eta(job, checked.stretch if checked else None)
        found = withheld(found, checked.why_withheld if checked else "")
    mine = twin.jobs[twin.jobs["job_id"].astype(str) == job].iloc[0]
    row = {
        "job_id": job,
        "start_s": found.p50_s,
        "start_low_s": found.p10_s,
        "start_high_s": found.p90_s,
        "ahead": found.ahead,
        "running": found.running,
    }
    if "slurm_start_s" in mine:
        slurm_s = float(mine["slurm_start_s"]) - twin.snapshot.now_s
        row["slurm_says_s"] = None if slurm_s != slurm_s else slurm_s
    document = {**found.to_dict(), "checked": checked.to_dict() if checked else unchecked}
    notes = _notes(found.reason, checked, unchecked)
    show_result(
        Result.of_rows("queue-eta", finite([row]), values=finite(document), notes=notes), format
    )


def _notes(reason: str, checked: TwinCheck | None, unchecked: str) -> list[str]:
    notes = ["Seconds from now; the interval holds 80 % of such starts."]
    if reason:
        notes = [f"No forecast: {reason}."]
    if checked is None:
        return [*notes, f"Past forecasts were not checked: {unchecked}."]
    missed = units.duration(checked.error_s)
    alike = units.duration(checked.alike_error_s)
    return [
        *notes,
        f"Checked on {checked.forecasts:,} jobs at {checked.instants} past instants: median error "
        f"{missed}; recent waits of jobs alike {alike}. Intervals fitted to the other instants "
        f"held {checked.held.value:.0%} of the starts.",
    ]
