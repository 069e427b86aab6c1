"""How commands speak: results to stdout in the chosen format, everything else to stderr."""

from __future__ import annotations

import csv
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.provenance import with_recorded_provenance
from prophase.cli.settings import Formerly
from prophase.plain import finite as finite

if TYPE_CHECKING:
    from prophase.plots.page import Page


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
Row = Mapping[str, Any]


def emit(
    rows: Sequence[Row],
    format: Format,
    *,
    document: Mapping[str, Any] | None = None,
    remarks: Sequence[str] = (),
    page: Callable[[], Page] | None = None,
) -> None:
    """Write a result: as a table with remarks, as data, or as a self-contained page.

    ``document`` is the whole result for JSON and YAML, told with data hash, seed and version;
    without it they list the rows. ``page``
    makes the page of a result that has one of its own; any other gets a plain one.
    """
    if format in (Format.json, Format.yaml):
        whole: Any = with_recorded_provenance(document) if document is not None else list(rows)
        text = json.dumps(finite(whole), indent=2, allow_nan=False)
        typer.echo(text if format is Format.json else _yaml(text))
    elif format in (Format.html, Format.markdown):
        from prophase.cli.result_page import page_text, plain_page

        whole = None if document is None else with_recorded_provenance(document)
        shown = page() if page is not None else plain_page(rows, whole, remarks, typed_command())
        typer.echo(page_text(shown, markdown=format is Format.markdown), nl=False)
    elif format is Format.csv:
        writer = csv.DictWriter(sys.stdout, _columns(rows), lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)
    else:
        for line in text_table(rows):
            typer.echo(line)
        if remarks:
            typer.echo("\n" + "\n".join(remarks) if rows else "\n".join(remarks))


def say(text: str) -> None:
    """Tell the user something that is not the result."""
    typer.echo(text, err=True)


def text_table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield lines of aligned columns: numbers to the right, text to the left."""
    if not rows:
        return
    columns = _columns(rows)
    cells = [[units.cell(row.get(column)) for column in columns] for row in rows]
    numeric = [all(_is_number(row.get(c)) for row in rows) for c in columns]
    widths = [
        max(len(column), *(len(line[i]) for line in cells)) for i, column in enumerate(columns)
    ]
    for line in [columns, *cells]:
        aligned = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        yield "  ".join(aligned).rstrip()


@contextmanager
def progress_bar() -> Iterator[Any]:
    """Show on stderr what is being done; yields a function (step, percent or None)."""
    from rich.console import Console

    if not sys.stderr.isatty():
        yield lambda step, percent: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("starting", total=None)
        yield lambda step, percent: bar.update(
            task,
            description=step,
            total=None if percent is None else 100,
            completed=percent or 0,
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


def _columns(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
