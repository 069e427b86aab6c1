"""prophase queue slurm: what runs and what waits now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, show_result
from prophase.cli.queue.queue_options import QueueOption, snapshot_of
from prophase.plural import counted
from prophase.result import Result


def command(
    queue: QueueOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep what Slurm's programs print in this folder.")
    ] = None,
    jobs: Annotated[
        bool, typer.Option("--waiting", help="List the waiting jobs, the next one first.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Show the queue by partition: nodes, what runs, what waits, for how long.

    Examples:

    `prophase queue slurm`

    `prophase queue slurm --out now --waiting`
    """
    found = snapshot_of(queue, out)
    rows = found.summary().to_dict("records")
    if jobs:
        columns = "job_id user group queue attr_qos attr_priority instances request_cpu_cores"
        columns += " request_gpus time_limit_s attr_reason slurm_start_s"
        rows = found.waiting[columns.split()].to_dict("records")
    notes = [f"{counted(count, 'job')} left out: {why}" for why, count in found.left_out.items()]
    notes += [f"not followed: {what}" for what in found.rules.left_out]
    if found.off:
        notes.append(f"{len(found.off):,} nodes take no jobs: {', '.join(found.off[:8])}")
    values = {
        "now_s": found.now_s,
        "running": len(found.running),
        "waiting": len(found.waiting),
        "left_out": found.left_out,
        "rules": found.rules.to_dict(),
    }
    show_result(Result.of_rows("queue", finite(rows), values=finite(values), notes=notes), format)
