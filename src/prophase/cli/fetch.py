"""prophase fetch: bring a public trace onto this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, say, show_result
from prophase.cli.settings import Formerly
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.trace.fetch.catalogue import PublicTrace, RemoteFile
    from prophase.trace.fetch.fetched_trace import FetchReport


def command(
    source: Annotated[str, typer.Argument(help="Name of the trace; `list` shows them all.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files; traces/SOURCE if not given.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--file", help="Only files whose name fits this pattern; repeatable."),
        Formerly("--only"),
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Address of a folder with the same files, used instead.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and stop.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Fetch a public trace from its owner, check every file, and resume after interruptions.

    A file with a wrong checksum is not kept. Where no checksum is published, the first
    fetch records one in SHA256SUMS, and later ones are compared with it.

    Examples:

    `prophase fetch list`

    `prophase fetch openb --dry-run`

    `prophase fetch philly --out traces/philly`

    `prophase fetch google2011 --file 'task_events/part-0000?-of-00500.csv.gz'`
    """
    from prophase.trace.fetch import catalogue
    from prophase.trace.fetch.fetched_trace import fetch

    if source == "list":
        show_result(
            Result.of_rows(
                "fetch", [_overview(trace) for trace in catalogue.all_public_traces().values()]
            ),
            format,
        )
        return
    trace = catalogue.public_trace(source)
    folder = out or Path("traces") / source
    if dry_run:
        _plan(trace, folder, only or [], format)
        return
    say(f"{trace.title}\nLicence: {trace.licence}. Cite: {trace.cite}.")
    with progress_bar() as progress:
        report = fetch(trace, folder, only=only or [], mirror=mirror, progress=progress)
    show_result(
        Result.of_rows("fetch", _rows(report), notes=[*report.notes, _next_step(report, trace)]),
        format,
    )


def _overview(trace: PublicTrace) -> JsonObject:
    usual = trace.chosen()
    size = sum(file.size or 0 for file in usual)
    return {
        "trace": trace.name,
        "files": len(usual),
        "size_mb": round(size / 1e6, 1) if all(file.size for file in usual) else None,
        "checksum": _checksum_state(trace, usual),
        "licence": trace.licence,
        "what": trace.title,
    }


def _checksum_state(trace: PublicTrace, chosen: list[RemoteFile]) -> str:
    if trace.sums is not None:
        return "owner's list"
    bases = {file.basis for file in chosen}
    words = {"owner": "owner", "copies": "copies", None: "first fetch"}
    return " + ".join(word for basis, word in words.items() if basis in bases)


def _plan(trace: PublicTrace, folder: Path, only: list[str], format: Format) -> None:
    chosen = trace.chosen(only)
    rows = [
        {
            "file": file.name,
            "size_mb": round(file.size / 1e6, 3) if file.size else None,
            "checksum": _checksum_state(trace, [file]),
            "there": (folder / file.name).is_file(),
            "url": file.urls[0],
        }
        for file in chosen
    ]
    left = len(trace.files) - len(chosen)
    remarks = [f"{counted(left, 'more file')} can be had with --only."] if left else []
    remarks.append(f"Nothing was fetched. Without --dry-run these go to {folder}.")
    show_result(Result.of_rows("fetch-plan", rows, notes=remarks), format)


def _rows(report: FetchReport) -> list[JsonObject]:
    from prophase.trace.fetch.fetched_trace import VOUCHERS

    return [
        {
            "file": file.name,
            "state": file.state,
            "size_mb": round(file.size / 1e6, 3),
            "sha256": file.sha256[:12],
            "vouched_for_by": VOUCHERS[file.voucher],
        }
        for file in report.files
    ]


def _next_step(report: FetchReport, trace: PublicTrace) -> str:
    if trace.reader is None:
        return (
            f"No reader takes these files as they are. {trace.page} describes them; "
            "prophase import csv reads tables with a mapping."
        )
    return f"Next: prophase import {trace.reader} {as_typed(report.folder)} --workspace WORKSPACE"
