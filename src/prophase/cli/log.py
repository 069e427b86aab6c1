"""prophase log: what does a command use?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import as_typed, say

if TYPE_CHECKING:
    from prophase.runs.usage.measurement_order import Ending


def command(
    words: Annotated[list[str], typer.Argument(metavar="-- CMD ...", help="Command to run.")],
    every: Annotated[
        str, typer.Option(help=f"Time between samples, {units.DURATION_HELP}.")
    ] = "5s",
    out: Annotated[
        Path, typer.Option(help="File for the samples: .parquet, .csv or .jsonl.")
    ] = Path("usage.parquet"),
    job_out: Annotated[
        Path | None,
        typer.Option(
            help="Add the run as one line to this file (.jsonl) too, for prophase import."
        ),
    ] = None,
) -> None:
    """Run a command and log what it and all its processes use.

    A separate process samples CPU, memory, I/O, threads and GPUs. Where a control group can be
    made, the kernel itself counts the memory; elsewhere samples come faster while memory rises.
    The last line says how far the peak can be off. What was sampled is on the disk at once. The
    exit code is that of the command.

    Examples:

    `prophase log -- python train.py`

    `prophase log --every 1s --out train.csv -- python train.py --epochs 3`
    """
    from prophase.runs.usage.usage_log import run_logged

    every_s = units.parse_duration(every, bare="s", where="--every", positive=True)
    sys.stdout.flush()
    ending = run_logged(words, out, every_s=every_s, jobs=job_out)
    if ending.samples:
        say(
            f"prophase: {units.duration(ending.duration_s)}, {measured_peak(ending)}, "
            f"{units.number(ending.cpu_mean_cores)} cores on average; {ending.samples} samples in "
            f"{as_typed(out)}"
        )
    elif ending.exit_code == 0:
        say(f"prophase: ended after {units.duration(ending.duration_s)}, before the first sample.")
    raise typer.Exit(ending.exit_code)


def measured_peak(ending: Ending) -> str:
    """Return a peak such as ``peak 617 MiB (within 0.5 MiB, cgroup v1)``."""
    said = f"peak {units.memory(ending.memory_peak_gib)}"
    if ending.memory_peak_error_gib is None:
        return said
    return f"{said} (within {units.memory(ending.memory_peak_error_gib)}, {ending.memory_method})"
