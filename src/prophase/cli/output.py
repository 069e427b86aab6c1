"""How commands speak: results to stdout in the chosen format, everything else to stderr."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from prophase.cli.provenance import command_asked, with_recorded_provenance
from prophase.cli.settings import Formerly
from prophase.plain import finite as finite
from prophase.plural import counted
from prophase.result import Provenance, Result, Row, Table


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
    else:
        from prophase.result.terminal import lines

        for line in lines(result):
            typer.echo(line)


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


def typed_command() -> str:
    """Return the command as the user typed it, quoted so that it can be run again."""
    return shlex.join(["prophase", *sys.argv[1:]])


def as_typed(path: Path) -> str:
    """Return a path as one would type it into a shell.

    Examples
    --------
    >>> as_typed(Path("my cluster"))
    "'my cluster'"
    """
    return shlex.quote(str(path))


def _yaml(text: str) -> str:
    import yaml

    return str(yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True)).rstrip()
