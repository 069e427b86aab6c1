"""prophase queue kueue: which Workloads hold quota and which wait for it now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, show_result
from prophase.cli.queue.queue_options import QueueOption, kueue_snapshot_of
from prophase.result import Result


def command(
    queue: QueueOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep the objects of the API server in this folder.")
    ] = None,
    jobs: Annotated[
        bool, typer.Option("--waiting", help="List the waiting jobs, the next one first.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Show Kueue's quotas: what each ClusterQueue has, uses, could borrow, and what waits.

    Needs the right to list Workloads, ClusterQueues, LocalQueues, ResourceFlavors and Cohorts.

    Examples:

    `prophase queue kueue`

    `prophase queue kueue --out now --waiting`
    """
    found = kueue_snapshot_of(queue, out)
    rows = found.summary().to_dict("records")
    if jobs:
        columns = "job_id name queue attr_local_queue attr_priority submit_s instances"
        columns += " request_cpu_cores request_memory_gib request_gpus attr_reason"
        rows = found.waiting[columns.split()].to_dict("records")
    notes = [f"{count:,} Workloads left out: {why}" for why, count in found.left_out.items()]
    values = {
        "now_s": found.now_s,
        "running": len(found.running),
        "waiting": len(found.waiting),
        "finished": len(found.finished),
        "left_out": found.left_out,
    }
    notes = [*notes, *found.notes]
    show_result(Result.of_rows("queue", finite(rows), values=finite(values), notes=notes), format)
