"""prophase import: read a dump into a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    WorkspaceOption,
    as_typed,
    finite,
    progress_bar,
    say,
    show_result,
    typed_command,
)
from prophase.cli.trace_options import (
    BY,
    MAX_BAD,
    LastOption,
    MappingOption,
    ReaderOption,
    ReplaceOption,
    StepOption,
    UrlOption,
    named_values,
)
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.trace.staged_tables import ImportReport


@dataclass(frozen=True)
class ReaderSettings:
    """Settings of single readers."""

    option: ReaderOption = None
    mapping: MappingOption = None
    guess: Annotated[
        bool, typer.Option("--guess", help="csv: print a proposed mapping and stop.")
    ] = False
    columns: Annotated[
        str | None, typer.Option(help="sacct: column names of a dump without a header.")
    ] = None
    url: UrlOption = None
    last: LastOption = "14d"
    step: StepOption = "1m"

    def options(self) -> dict[str, str]:
        """Return the options of the reader, by name."""
        named = {"map": self.mapping, "columns": self.columns}
        given = {name: str(value) for name, value in named.items() if value is not None}
        return given | named_values(self.option)


def command(
    source: Annotated[
        str,
        typer.Argument(
            help="Name of the source; `list` shows them all. A file or folder in its place is "
            "recognised by its columns."
        ),
    ],
    reader: ReaderSettings,
    path: Annotated[Path | None, typer.Argument(help="File or folder of the dump.")] = None,
    workspace: WorkspaceOption = Path(),
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Keep only jobs that meet a rule, e.g. finished; may be repeated."),
    ] = None,
    max_bad: Annotated[str, MAX_BAD] = "1%",
    engine: Annotated[str | None, typer.Option(help="duckdb, or spark with its extra.")] = None,
    by: Annotated[str | None, BY] = None,
    replace: ReplaceOption = False,
    append: Annotated[
        bool, typer.Option("--append", help="Add rows to tables of that name.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Read a trace into the workspace: jobs, usage and nodes in one shape.

    Every row is accounted for: kept, or left out with a reason. Nothing in the
    workspace changes unless the import succeeds.

    Examples:

    `prophase import jobs.csv --workspace ws`

    `prophase import philly philly.csv.gz --workspace ws`

    `prophase import pai2020 dump/ --keep finished --keep known-workload`

    `prophase import csv jobs.csv --guess > jobs.toml`

    `prophase import csv jobs.csv --map jobs.toml`

    `prophase import prometheus --url http://localhost:9090 --last 14d --workspace ws`
    """
    from prophase.trace.import_pipeline import import_trace
    from prophase.trace.reader import reader_named
    from prophase.trace.source_files import files_below
    from prophase.trace.workspace import Workspace

    if source == "list":
        show_result(Result.of_rows("import", _known_sources()), format)
        return
    url = reader.url
    notes: list[str] = []
    named = Path(source).exists() or Path(source).name != source or "." in source
    if path is None and url is None and named:
        path = Path(source)
        source, notes = _recognised(path, mapped=reader.mapping is not None)
    elif path is not None and Path(source).is_file():
        raise ParameterError(
            f"{source} is a file, so {path} is not one, too. Name the workspace after --workspace: "
            f"prophase import {as_typed(Path(source))} --workspace {as_typed(path)}"
        )
    if url is not None and source != "prometheus":
        raise ParameterError(f"--url goes with the source prometheus, not with {source}.")
    if path is None and url is None:
        ask = " Or name a server: --url http://HOST:9090" if source == "prometheus" else ""
        raise ParameterError(f"import needs a PATH: the file or folder of the dump.{ask}")
    if reader.guess and path is not None:
        _print_guess(source, path)
        return
    if replace and append:
        raise ParameterError("--replace and --append exclude each other.")
    reader_named(source)
    if url is None:
        assert path is not None
        files_below(path)
    new = not Workspace.is_at(workspace)
    options = reader.options()
    with _said_when_interrupted(), ExitStack() as rooms, progress_bar() as progress:
        if url is not None:
            folder = path or Path(rooms.enter_context(TemporaryDirectory(prefix="prophase-")))
            notes += _gathered(url, folder, reader.last, reader.step, options, progress)
            path, options = folder, {}
        assert path is not None
        report = import_trace(
            source,
            path,
            Workspace.prepare(workspace),
            engine=engine,
            options=options,
            keep=keep or [],
            max_bad=units.parse_share(max_bad, where="--max-bad"),
            by=by,
            mode="replace" if replace else "append" if append else "new",
            command=typed_command(),
            progress=progress,
        )
    if new:
        say(f"Made a workspace in {workspace.resolve()}.")
    show_result(
        Result.of_rows(
            "import",
            _rows(report),
            values=finite(report.to_dict()),
            notes=[
                *notes,
                *report.notes,
                *_grouped(report),
                f"data {report.source_hash[:12]}, engine {report.engine}, clock {report.clock}",
                f"Next: prophase lint {as_typed(workspace)}; "
                f"prophase describe {as_typed(workspace)}",
            ],
        ),
        format,
    )


def _recognised(path: Path, *, mapped: bool) -> tuple[str, list[str]]:
    """Return the source of files that nobody named, and what to say of it."""
    from prophase.trace.reader import reader_named
    from prophase.trace.schema import SCHEMAS
    from prophase.trace.source_files import files_below
    from prophase.trace.source_recognition import recognise_source

    files_below(path)
    if mapped:
        return "csv", []
    source, _ = recognise_source(path, [*SCHEMAS])
    said = f"{path} is {source} ({reader_named(source).title}), recognised by its columns."
    return source, [] if source == "csv" else [said]


def _grouped(report: ImportReport) -> list[str]:
    """Say by what jobs are grouped, if there are any."""
    from prophase.trace.identity.rule import IdentityRule

    return [IdentityRule.from_dict(report.identity).sentence] if report.identity else []


def _gathered(
    url: str,
    folder: Path,
    last: str,
    step: str,
    options: Mapping[str, str],
    progress: Callable[[str, float | None], object],
) -> list[str]:
    """Write what a Prometheus server knows into the folder, and return what to say of it."""
    import time

    from prophase.integrations.prometheus.client import Prometheus
    from prophase.integrations.prometheus.cluster_tables import gather
    from prophase.integrations.prometheus.label_names import LabelNames

    last_s = units.parse_duration(last, bare="s", where="--last", positive=True)
    step_s = units.parse_duration(step, bare="s", where="--step", positive=True)
    now = time.time()
    return list(
        gather(
            Prometheus(url),
            folder,
            start_s=now - last_s,
            end_s=now,
            step_s=step_s,
            labels=LabelNames.of(options),
            progress=progress,
        ).notes
    )


@contextmanager
def _said_when_interrupted() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("Interrupted. Nothing was changed. Run the same command again to resume.")
        raise typer.Exit(130) from None


def _rows(report: ImportReport) -> list[JsonObject]:
    """One line per table, then one per reason."""
    rows: list[JsonObject] = []
    for name, count in report.tables.items():
        rows.append({"table": name, "what": "read", "rows": count.read})
        rows += [
            {"table": name, "what": f"left out: {r}", "rows": n} for r, n in count.dropped.items()
        ]
        rows += [
            {"table": name, "what": f"corrected: {r}", "rows": n} for r, n in count.repaired.items()
        ]
        rows += [
            {"table": name, "what": f"found in {t}", "rows": n} for t, n in count.joined.items()
        ]
        rows.append({"table": name, "what": "kept", "rows": count.kept})
    return rows


def _known_sources() -> list[JsonObject]:
    from prophase.trace.reader import all_readers

    return [
        {"source": r.name, "tables": " ".join(r.fills), "what": r.title}
        for r in all_readers().values()
    ]


def _print_guess(source: str, path: Path) -> None:
    if source != "csv":
        raise ParameterError(
            "--guess proposes a mapping for the source csv; use: import csv PATH --guess"
        )
    from prophase.trace.readers.csv import guess_mapping

    typer.echo(guess_mapping(path), nl=False)
