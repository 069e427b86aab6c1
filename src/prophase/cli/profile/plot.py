"""prophase profile plot: every figure of profiles, and a page that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, progress_bar, show_result, typed_command
from prophase.cli.profile.options import (
    JobsOption,
    ModelArgument,
    TopOption,
    open_profiles,
    trace_of,
)
from prophase.cli.trace_options import SourceOption
from prophase.errors import ParameterError
from prophase.plural import counted
from prophase.result import Result


def command(
    path: ModelArgument,
    out: Annotated[Path, typer.Option(help="Folder for the figures, their numbers and the page.")],
    jobs: JobsOption = None,
    top: TopOption = 10,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Draw profiles: separation, density, use per metric, metadata, node types, distributions.

    Every figure is written as PNG with its numbers as CSV beside it; index.html shows all.
    Jobs that the profiles were not learnt from are given the profile nearest to their use.

    Examples:

    `prophase profile plot ws --out figures`

    `prophase profile plot profiles.model --trace later.csv --out figures`
    """
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out {out}: is a file. Name a folder.")
    profiler = open_profiles(path)
    place = trace_of(path, jobs)

    from prophase.cli.provenance import open_trace
    from prophase.plots.profiles.page import PAGE, write_profile_page
    from prophase.profile.clusters.default_profiles import ended_jobs

    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(place, source=source, tables=["jobs"])
        found = profiler.recognise(ended_jobs(trace.jobs).jobs)
        progress("drawing", None)
        about = {"source": trace.source, "data hash": trace.data_hash, "command": typed_command()}
        names = write_profile_page(profiler, found, out, top=top, about=about)
    remarks = [f"Wrote {counted(len(names), 'figure')} to {out}. Open {out / PAGE}."]
    if not found.learnt:
        remarks.append(
            "These are not the jobs that the profiles were learnt from: each has the profile "
            "nearest to its use."
        )
    rows = [{"figure": f"{name}.png", "numbers": f"{name}.csv"} for name in names]
    document = {"page": str(out / PAGE), "learnt_from_these_jobs": found.learnt, "figures": rows}
    show_result(Result.of_rows("profile-plot", rows, values=document, notes=remarks), format)
