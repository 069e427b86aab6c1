"""prophase synth: make a trace whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    finite,
    progress_bar,
    say,
    show_result,
    typed_command,
)
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import SEED
from prophase.cli.trace_options import ReplaceOption, named_values
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.trace.trace_tables import Trace


GeneratorOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other setting, by name; repeatable."),
    Formerly("--option", "-o"),
]


@dataclass(frozen=True)
class GeneratorSettings:
    """Settings of single generators."""

    jobs: Annotated[int | None, typer.Option(help="pai: number of jobs.")] = None
    days: Annotated[float | None, typer.Option(help="pai: length of the trace.")] = None
    series: Annotated[int | None, typer.Option(help="containers: number of series.")] = None
    samples: Annotated[int | None, typer.Option(help="containers: samples per series.")] = None
    behaviour: Annotated[
        str | None,
        typer.Option(help="containers: levels, dynamics or both."),
        Formerly("--kind"),
    ] = None
    like: Annotated[str | None, typer.Option(help="cluster: pai, openb or small.")] = None
    scale: Annotated[
        float | None, typer.Option(help="cluster: multiplies the number of nodes.")
    ] = None

    def options(self) -> dict[str, str]:
        """Return those that were given, by the names of the generators."""
        named = {
            ("kind" if key == "behaviour" else key): value for key, value in vars(self).items()
        }
        return {key: str(value) for key, value in named.items() if value is not None}


@dataclass(frozen=True)
class RawSettings:
    """The seven tables as PAI publishes them, and its published figures."""

    raw: Annotated[
        Path | None,
        typer.Option("--raw", help="pai: folder for the seven raw tables, as PAI publishes them."),
    ] = None
    compress: Annotated[
        bool, typer.Option("--compress", help="pai: write the raw tables as .tar.gz.")
    ] = False
    compare: Annotated[
        bool, typer.Option("--compare", help="pai: show the published figures beside this trace.")
    ] = False


def command(
    name: Annotated[
        str, typer.Argument(help="pai, pipeline, containers or cluster; `list` explains them.")
    ],
    wanted: GeneratorSettings,
    published: RawSettings,
    out: Annotated[
        Path | None, typer.Option("--out", help="Workspace to store the tables in.")
    ] = None,
    option: GeneratorOption = None,
    seed: Annotated[int | None, SEED] = None,
    replace: ReplaceOption = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Folder to write the tables to as CSV.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Make a synthetic trace: seeded, and with the truth that real traces never tell.

    The truth (profiles, phases, hidden factors) is stored in side tables whose names
    start with `truth_`. It is for scoring; predictors do not read it.

    Examples:

    `prophase synth pai --out demo --jobs 20000`

    `prophase synth pipeline --out thesis --set logic_change_task=predict_demand`

    `prophase synth containers --out series --behaviour dynamics --set gaps=yes`

    `prophase synth pai --jobs 100000 --raw dump --compress`
    """
    from prophase.trace.synth.generator import generator_named

    if name == "list":
        show_result(Result.of_rows("synth", _known_generators()), format)
        return
    raw, compress, compare = published.raw, published.compress, published.compare
    generator = generator_named(name)
    if name != "pai" and (raw or compare or compress):
        raise ParameterError(f"--raw, --compress and --compare are for pai, not for {name}.")
    if compress and not raw:
        raise ParameterError("--compress needs --raw DIR: it packs the raw tables.")
    if out is None and csv is None and raw is None and not compare:
        raise ParameterError(
            f"synth {name}: nowhere to put it. Add --out WORKSPACE, --csv DIR"
            + (", --raw DIR or --compare." if name == "pai" else ".")
        )
    options = wanted.options()
    options |= named_values(option, "--set")
    used_seed = _seed(seed, out)
    trace = generator.make_from_text(options, random_state=used_seed)
    files = _export(trace, csv, raw, compress=compress, seed=used_seed)
    if out is not None:
        _store(trace, out, seed=used_seed, replace=replace)
    if compare:
        _emit_comparison(trace, format)
        return
    show_result(
        Result.of_rows(
            "synth",
            _rows(trace),
            values=_document(name, trace, options, used_seed, files),
            notes=[
                *files,
                f"data {trace.data_hash[:12]}, seed {used_seed}, clock {trace.clock}",
                *_next(out),
            ],
        ),
        format,
    )


def _seed(seed: int | None, out: Path | None) -> int:
    from prophase.trace.workspace import Workspace

    if seed is not None:
        return seed
    if out is None or not Workspace.is_at(out):
        return 0
    return int(Workspace(out).settings.get("seed", 0))


def _export(
    trace: Trace, csv: Path | None, raw: Path | None, *, compress: bool, seed: int
) -> list[str]:
    """Write files outside a workspace; return a line about each."""
    from prophase.trace.synth.generator import tables_to_store, write_csv
    from prophase.trace.synth.pai_raw_tables import write_raw

    lines = []
    if csv is not None:
        lines += [f"wrote {path}" for path in write_csv(tables_to_store(trace), csv)]
    if raw is not None:
        with progress_bar() as progress:
            rows = write_raw(
                trace,
                raw,
                compress=compress,
                random_state=seed,
                progress=lambda percent: progress("writing raw tables", percent),
            )
        counts = ", ".join(f"{count:,} {table}" for table, count in rows.items())
        lines.append(f"wrote {raw}: {counts}")
        lines.append(f"Next: prophase import pai2020 {as_typed(raw)} -w WORKSPACE")
    return lines


def _store(trace: Trace, out: Path, *, seed: int, replace: bool) -> None:
    from prophase.trace.synth.generator import TRUTH_PREFIX, tables_to_store
    from prophase.trace.workspace import Workspace

    if not Workspace.is_at(out):
        say(f"Making a workspace in {out.resolve()}.")
    workspace = Workspace.create(out)
    workspace.store_frames(
        tables_to_store(trace),
        source=trace.source,
        source_hash=trace.data_hash,
        command=typed_command(),
        clock=trace.clock,
        seed=seed,
        replace=replace,
    )
    stale = [
        table.name
        for table in workspace.tables.values()
        if table.name.startswith(TRUTH_PREFIX) and table.source_hash != trace.data_hash
    ]
    if stale:
        say(f"Note: {', '.join(stale)} belong to another trace that was stored here before.")


def _rows(trace: Trace) -> list[JsonObject]:
    from prophase.trace.synth.generator import TRUTH_PREFIX, tables_to_store

    return [
        {
            "table": table,
            "rows": len(frame),
            "columns": len(frame.columns),
            "what": "truth, for scoring only" if table.startswith(TRUTH_PREFIX) else "input",
        }
        for table, frame in tables_to_store(trace).items()
    ]


def _document(
    name: str, trace: Trace, options: dict[str, str], seed: int, files: list[str]
) -> JsonObject:
    return {
        "generator": name,
        "parameters": options,
        "seed": seed,
        "data_hash": trace.data_hash,
        "clock": trace.clock,
        "tables": {row.pop("table"): row for row in _rows(trace)},
        "files": files,
    }


def _emit_comparison(trace: Trace, format: Format) -> None:
    from prophase.trace.synth.pai_published_figures import compare_with_published

    table = compare_with_published(trace)
    rows = finite(table.to_dict("records"))
    outside = int((~table["within"]).sum())
    show_result(
        Result.of_rows(
            "synth-comparison",
            rows,
            notes=[
                f"{outside} of {len(table)} figures are outside their tolerance."
                if outside
                else f"All {len(table)} figures are within their tolerance."
            ],
        ),
        format,
    )


def _next(out: Path | None) -> list[str]:
    if out is None:
        return []
    return [f"Next: prophase describe {as_typed(out)}; prophase show {as_typed(out)}"]


def _known_generators() -> list[JsonObject]:
    from prophase.trace.synth.generator import all_generators

    rows: list[JsonObject] = []
    for generator in all_generators().values():
        rows.append({"name": generator.name, "parameter": "", "what": generator.title})
        rows += [
            {"name": "", "parameter": parameter, "what": text}
            for parameter, text in generator.parameters.items()
        ]
    return rows
