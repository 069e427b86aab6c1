"""prophase sample: fewer jobs that stand for all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, as_typed, show_result, typed_command
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import BY, ReplaceOption, SourceOption, TraceArgument
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from prophase.trace.sample import Sample


def command(
    path: TraceArgument,
    by: Annotated[
        str | None,
        typer.Option("--by", help=f"{BY.help} [default: workload, else kind]"),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Rows wanted; without it, Cochran's size (95 %, 5 points).")
    ] = None,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option(help="Workspace to write the sample to; else only counts.")
    ] = None,
    source: SourceOption = None,
    replace: ReplaceOption = False,
    format: FormatOption = Format.table,
) -> None:
    """Draw a stratified sample of the jobs: every stratum keeps its share.

    Each stratum is rounded on its own, so the total may differ from the size by a few rows.

    Examples:

    `prophase sample ws --by workload --size 100000 --out small`

    `prophase sample ws --by user`
    """
    from prophase.trace.source_files import combined_hash
    from prophase.trace.workspace import Workspace

    by, sample, frames, origin = _draw(path, source, by, size, seed, wanted=out is not None)
    remarks = list(sample.notes)
    if out is not None:
        jobs = frames["jobs"]
        if "usage" in frames:
            frames["usage"], note = _usage_of(frames["usage"], jobs)
            remarks.append(note)
        Workspace.prepare(out).store_frames(
            frames,
            source=origin["source"],
            source_hash=combined_hash([origin["hash"], "sample", by, size, seed]),
            command=typed_command(),
            clock=origin["clock"],
            seed=seed,
            replace=replace,
        )
        following = f"Next: prophase describe {as_typed(out)}"
        remarks.append(f"Wrote {counted(len(jobs), 'job')} to {out}. {following}")
    else:
        remarks.append("Nothing was written. Add --out FOLDER to keep the sample.")
    rows = _rows(sample, by)
    show_result(
        Result.of_rows(
            "sample", rows, values={"by": by, "strata": rows, "notes": remarks}, notes=remarks
        ),
        format,
    )


def _draw(
    path: Path, source: str | None, by: str | None, size: int | None, seed: int, *, wanted: bool
) -> tuple[str, Sample, dict[str, pd.DataFrame], dict[str, str]]:
    """Return the strata, the sample, the tables it leaves, and where they came from."""
    from prophase.cli.provenance import note_data, open_trace
    from prophase.errors import MissingColumnError, not_among
    from prophase.trace.sample import draw_sample, take_rows
    from prophase.trace.workspace import Workspace

    if source is None and Workspace.is_at(path):
        # only the strata are read whole: the table may be larger than the memory
        held = Workspace(path)
        file = held.path_of("jobs")
        entry = held.tables["jobs"]
        columns = list(entry.columns)
        origin = {"source": entry.source, "hash": entry.source_hash, "clock": entry.clock}
        note_data(entry.source_hash)
    else:
        trace = open_trace(path, source=source)
        held, columns = None, list(trace.jobs.columns)
        origin = {"source": trace.source, "hash": trace.data_hash, "clock": trace.clock}
    by = by or next((name for name in ("workload", "kind") if name in columns), "workload")
    if by not in columns:
        raise MissingColumnError(
            not_among(
                f"{path}: the jobs have no column {by!r}.",
                by,
                columns,
                heading="Name one with --by",
            )
        )
    if held is None:
        sample = draw_sample(trace.jobs[by], size, random_state=seed)
        return by, sample, {**trace.tables, "jobs": trace.jobs.iloc[sample.rows]}, origin
    sample = draw_sample(held.read("jobs", [by])[by], size, random_state=seed)
    if not wanted:
        return by, sample, {}, origin
    others = {name: held.read(name) for name in held.tables if name != "jobs"}
    return by, sample, {**others, "jobs": take_rows(file, sample.rows, columns)}, origin


def _usage_of(usage: pd.DataFrame, jobs: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Keep the usage of the drawn jobs; usage that names no job stays whole."""
    mine = usage["series_id"].isin(jobs["job_id"])
    if not mine.any():
        return usage, "The usage table does not name these jobs and was kept whole."
    return usage[mine], f"Kept {int(mine.sum()):,} of {len(usage):,} usage rows: the drawn jobs'."


def _rows(sample: Sample, by: str) -> list[JsonObject]:
    """One line per stratum and the total, as in the paper's Table I."""
    rows = [
        {by: name, "rows": count, "sampled_rows": sample.drawn[name]}
        for name, count in sample.population.items()
    ]
    total = sum(sample.population.values())
    return [*rows, {by: "total", "rows": total, "sampled_rows": len(sample.rows)}]
