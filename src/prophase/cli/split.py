"""prophase split: rows to learn from, rows to be judged on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, show_result, typed_command
from prophase.cli.shared_options import SeedOption
from prophase.cli.split_options import CutOption, SplitBy, SplitOption, TestShareOption, moment
from prophase.cli.trace_options import ReplaceOption, SourceOption, TraceArgument
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.trace.split import Split
    from prophase.trace.trace_tables import Trace


def command(
    path: TraceArgument,
    split: SplitOption = SplitBy.time,
    test_share: TestShareOption = "20%",
    cut: CutOption = None,
    folds: Annotated[
        int | None, typer.Option(help="By time: this many cuts, moving forward; only counts.")
    ] = None,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the workspaces OUT/train and OUT/test.")
    ] = None,
    source: SourceOption = None,
    replace: ReplaceOption = False,
    format: FormatOption = Format.table,
) -> None:
    """Divide the jobs into a train and a test side, and count what is on neither.

    By time is the honest choice: it learns only from jobs that had ended before the
    first judged job was submitted.

    Examples:

    `prophase split ws --test-share 20% --out parts`

    `prophase split ws --cut 2017-11-01`

    `prophase split ws --split job --seed 7`

    `prophase split ws --folds 5`
    """
    from prophase.cli.provenance import open_trace

    _refuse_contradictions(split, cut, folds, out)
    trace = open_trace(path, source=source)
    splits = _divide(trace, split, test_share, cut, folds, seed)
    remarks = list(dict.fromkeys(note for one in splits for note in one.notes))
    if out is not None:
        _store(trace, splits[0], out, seed, replace)
        remarks.append(f"Wrote the workspaces {out / 'train'} and {out / 'test'}.")
    elif folds is None:
        remarks.append("Nothing was written. Add --out FOLDER to keep the two sides.")
    rows = [_row(one) for one in splits]
    show_result(
        Result.of_rows(
            "split", rows, values={"by": split, "splits": rows, "notes": remarks}, notes=remarks
        ),
        format,
    )


def _refuse_contradictions(
    by: SplitBy, cut: str | None, folds: int | None, out: Path | None
) -> None:
    if by is not SplitBy.time and (cut is not None or folds is not None):
        raise ParameterError(f"--cut and --folds go with --split time, not with --split {by}.")
    if folds is not None and (cut is not None or out is not None):
        raise ParameterError("--folds only counts; it goes with neither --cut nor --out.")


def _divide(
    trace: Trace, by: SplitBy, share: str, cut: str | None, folds: int | None, seed: int
) -> list[Split]:
    from prophase.trace.split import SEEDED_SPLITS, split_by_time, time_folds

    if folds is not None:
        return time_folds(trace.jobs, folds)
    if cut is not None:
        return [split_by_time(trace.jobs, moment(cut))]
    wanted = units.parse_share(share, where="--test-share")
    if by is SplitBy.time:
        return [split_by_time(trace.jobs, test_share=wanted)]
    return [SEEDED_SPLITS[by](trace.jobs, wanted, random_state=seed)]


def _store(trace: Trace, split: Split, out: Path, seed: int, replace: bool) -> None:
    from prophase.trace.source_files import combined_hash
    from prophase.trace.workspace import Workspace

    nodes = {"nodes": trace.nodes} if "nodes" in trace.tables else {}
    for side, rows in (("train", split.train), ("test", split.test)):
        Workspace.prepare(out / side).store_frames(
            {"jobs": trace.jobs.iloc[rows], **nodes},
            source=trace.source,
            source_hash=combined_hash([trace.data_hash, split.rule, side]),
            command=typed_command(),
            clock=trace.clock,
            seed=seed,
            replace=replace,
        )


def _row(split: Split) -> JsonObject:
    return {
        "rule": split.rule,
        "train": len(split.train),
        "test": len(split.test),
        "left_out": len(split.left_out),
        "test_pct": round(100 * split.test_share, 1),
    }
