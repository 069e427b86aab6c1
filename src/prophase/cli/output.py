"""How commands speak: results to stdout in the chosen format, everything else to stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.provenance import command_asked, with_recorded_provenance, write_provenance
from prophase.cli.provenance import typed_command as typed_command
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import SaveOption
from prophase.errors import ParameterError, storage_error
from prophase.plain import finite as finite
from prophase.plural import as_typed as as_typed
from prophase.plural import counted
from prophase.result import Provenance, Result, Row, Table

if TYPE_CHECKING:
    import pandas as pd

_ENDINGS = (".csv", ".csv.gz", ".parquet", ".json")


class Format(StrEnum):
    """How a result is written."""

    table = "table"
    json = "json"
    csv = "csv"
    yaml = "yaml"
    html = "html"
    markdown = "markdown"


FormatOption = Annotated[
    Format, typer.Option("--format", "-f", help="How to write the result to stdout.")
]
_WORKSPACE = typer.Option(
    "--workspace",
    "-w",
    envvar="PROPHASE_WORKSPACE",
    help="Workspace: the folder with the tables. To read, a file or folder of a trace will do.",
)
WorkspaceOption = Annotated[Path, _WORKSPACE, Formerly("--history")]
OptionalWorkspace = Annotated[Path | None, _WORKSPACE, Formerly("--history")]


def show_result(result: Result, format: Format) -> None:
    """Write a result: as tables with notes, as data, or as a self-contained page.

    JSON and YAML have its values, told with data hash, seed and version; a result without
    values is a list of rows there.
    """
    if format in (Format.json, Format.yaml):
        bare = result.values is None
        whole = list(result.rows) if bare else with_recorded_provenance(result.values or {})
        text = json.dumps(finite(whole), indent=2, allow_nan=False)
        typer.echo(text if format is Format.json else _yaml(text))
    elif format is Format.html:
        from prophase.plots.result_files import page_html

        typer.echo(page_html(completed(result)), nl=False)
    elif format is Format.markdown:
        from prophase.result import markdown

        typer.echo(markdown.render(completed(result)), nl=False)
    elif format is Format.csv:
        from prophase.result import csv_form

        typer.echo(csv_form.render(result), nl=False)
        origin = with_recorded_provenance({"command": typed_command()})
        if "data_hash" in origin:
            # a stream of rows has no place for it
            say(f"Provenance: {json.dumps(origin)}")
    else:
        from prophase.result.terminal import lines

        for line in lines(result):
            typer.echo(line)


def check_file(option: str, target: Path | None) -> None:
    """Say before the work begins that a file cannot be written."""
    if target is not None and target.is_dir():
        raise ParameterError(f"{option} {target}: is a folder. Name a file.")
    if target is not None and not target.resolve().parent.is_dir():
        raise ParameterError(f"{option} {target}: the folder {target.parent} does not exist.")


def check_folder(option: str, target: Path | None) -> None:
    """Say before the work begins that a folder cannot be written to."""
    if target is not None and target.exists() and not target.is_dir():
        raise ParameterError(f"{option} {target}: is a file. Name a folder.")


def check_table(option: str, target: Path | None) -> None:
    """Say before the work begins that a table cannot be written."""
    if target is not None and not target.name.endswith(_ENDINGS):
        raise ParameterError(f"{option} {target}: end the name in {', '.join(_ENDINGS)}.")
    check_file(option, target)


def write_table(table: pd.DataFrame, target: Path, what: str) -> None:
    """Write a table in the format its name ends in, and beside it where it comes from."""
    try:
        if target.suffix == ".parquet":
            table.to_parquet(target, index=False)
        elif target.suffix == ".json":
            table.to_json(target, orient="records", double_precision=15)
        else:
            table.to_csv(target, index=False)
        write_provenance(target.with_name(f"{target.name}.provenance.json"), [target])
    except OSError as cause:
        raise storage_error(cause, target) from cause
    say(f"Wrote {counted(len(table), what)} to {target}.")


def write_tables(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write tables as CSV into a folder, and beside them where they come from."""
    files = [folder / f"{name}.csv" for name in tables]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, table in zip(files, tables.values(), strict=True):
            table.to_csv(file, index=False)
        write_provenance(folder / "provenance.json", files)
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    say(f"Wrote {counted(len(files), 'table')} to {folder}.")


def write_page(result: Result, target: Path) -> None:
    """Write the page of a result and say so."""
    from prophase.plots import result_files

    result_files.write_page(completed(result), target)
    say(f"Wrote {target}.")


def write_figures(result: Result, folder: Path) -> None:
    """Write the figures of a result and say so."""
    from prophase.plots import result_files

    names = result_files.write_figures(result, folder)
    say(f"Wrote {counted(len(names), 'figure')} to {folder}: {', '.join(names)}.")


def write_report(result: Result, folder: Path) -> None:
    """Write the report of a result, as page, Markdown and JSON, and say so."""
    from prophase.plots import result_files

    say(f"Wrote {result_files.write_report(completed(result), folder)}.")


def completed(result: Result) -> Result:
    """Return a result for a page: with the command that made it, its data and its seed.

    One without a title gets those of the command's help.
    """
    title, question = (result.title, result.question) if result.title else command_asked()
    origin = with_recorded_provenance({})
    about = {"seed": origin.get("seed"), "data hash": origin.get("data_hash")}
    told = {name: str(value) for name, value in about.items() if value not in (None, "")}
    values = result.values
    if values is not None:
        values = finite(values)
    return replace(
        result,
        title=title,
        question=question,
        values=values,
        provenance=result.provenance or Provenance(typed_command(), about=told),
    )


@dataclass(frozen=True)
class RowOutputs:
    """Where the rows of an answer are written, and whether the workspace keeps it."""

    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the rows to this .csv, .parquet or .json file, and where they come from "
            "beside it."
        ),
    ] = None
    keep: SaveOption = None

    def check(self, path: Path) -> None:
        """Say before the work begins what cannot be written."""
        check_table("--out", self.out)
        kept_folder(self.keep, path)

    def write(self, result: Result, path: Path) -> None:
        """Write what was asked for."""
        if self.out is not None:
            import pandas as pd

            write_table(pd.DataFrame(list(result.rows)), self.out, "row")
        keep_result(result, self.keep, path)


def kept_folder(name: str | None, path: Path) -> Path | None:
    """Return the folder of a workspace that keeps a result; None if none is to be kept.

    A result of another command is never replaced.
    """
    from prophase.result.stored import FOLDER, stored_reports
    from prophase.trace.workspace import Workspace

    if name is None:
        return None
    if re.fullmatch(r"[\w-][\w.-]*", name) is None:
        raise ParameterError(f"--save-as {name}: give it a name of letters, digits, '-' and '_'.")
    if not Workspace.is_at(path):
        raise ParameterError(
            f"--save-as {name}: {path} is no workspace that could keep it. Make one first: "
            f"prophase import SOURCE {as_typed(path)} --workspace ws; or write files (--out)."
        )
    held = next((one for one in stored_reports(path) if one.name == name), None)
    if held is not None and held.command.split()[:2] != typed_command().split()[:2]:
        raise ParameterError(
            f"--save-as {name}: the workspace keeps {held.title!r} under this name. Choose another."
        )
    return path / FOLDER / name


def keep_result(result: Result, name: str | None, path: Path) -> Path | None:
    """Keep a result in a workspace, if it has a name, and say so; return its folder."""
    folder = kept_folder(name, path)
    if folder is not None:
        write_report(completed(result), folder)
    return folder


def text_table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table."""
    from prophase.result.terminal import table_lines

    return table_lines(Table("rows", rows))


def say(text: str) -> None:
    """Tell the user something that is not the result."""
    typer.echo(text, err=True)


@contextmanager
def progress_bar() -> Iterator[Any]:
    """Show on stderr what is being done; yields a function (step, percent or None).

    The bar appears with the first step: what is answered at once needs none.
    """
    if not sys.stderr.isatty():
        yield lambda step, percent: None
        return
    with ExitStack() as shown:
        bars: list[tuple[Any, Any]] = []

        def show(step: str, percent: float | None) -> None:
            if not bars:
                bar = shown.enter_context(_bar())
                bars.append((bar, bar.add_task("starting", total=None)))
            bar, task = bars[0]
            total = None if percent is None else 100
            bar.update(task, description=step, total=total, completed=percent or 0)

        yield show


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _yaml(text: str) -> str:
    import yaml

    return str(yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True)).rstrip()
