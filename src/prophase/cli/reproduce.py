"""prophase reproduce: run published experiments again and say whether the numbers come out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit, finite, say
from prophase.cli.reproduce_all import reproduce_all
from prophase.cli.reproduce_sources import COLUMNS, REMARKS, RUNNERS, Rows
from prophase.cli.reproduced import Reproduced
from prophase.errors import ParameterError, nearest


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="What to reproduce: polaris, ai4dl, thesis, mlaas, openb, pai-sim, or all."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the inputs and published results. Without it, the source's folder "
            "below PROPHASE_DATA; without that, synthetic data."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a report per source into this folder: HTML, Markdown, JSON."),
    ] = None,
    lists: Annotated[
        str | None, typer.Option(help="openb: pod lists, e.g. default,gpuspec20; or all.")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="openb: seeds of the arrival orders [default: 42,43,44]; thesis: seed of the "
            "synthetic pipeline [default: 112]."
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="thesis: settings tried for each of its 36 models. [default: 12]"),
    ] = None,
    workers: Annotated[
        str,
        typer.Option("--workers", "--dask", help="Processes (0: all cores), or dask://HOST:PORT."),
    ] = "0",
    figures: Annotated[
        Path | None,
        typer.Option(help="ai4dl, thesis: folder for figures; thesis: tables and models, too."),
    ] = None,
    again: Annotated[
        bool, typer.Option(help="all: run sources that have not changed since as well.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Repeat published experiments and put our numbers beside the published ones.

    Every table and figure is reproduced, contradicted, or needs data; on other data than the
    printed ones it holds or differs in kind. Leaves with 1 if one of our replays differs from
    what was published, or a source cannot be run; the verdicts on papers are results, and leave
    with 0. A second run of all takes only what has changed.

    Examples:

    `prophase reproduce all --out reproduced`

    `prophase reproduce openb --data openb --lists default,gpuspec20 --seeds 42,43`

    `prophase reproduce pai-sim --data pai_sim`

    `prophase reproduce polaris --format html > polaris.html`

    `prophase reproduce ai4dl --data ai4dl --figures drawn`

    `prophase reproduce thesis --figures thesis`
    """
    from prophase.workers import parse_workers

    if name not in (*RUNNERS, "all"):
        raise ParameterError(
            f"{name!r} is nothing we can reproduce. {nearest(name, RUNNERS)} "
            f"Known: {', '.join(RUNNERS)}, all."
        )
    given = {"lists": lists, "seeds": seeds, "trials": trials, "figures": figures}
    options = {key: str(value) for key, value in given.items() if value is not None}
    for key in options:
        if name == "all" or key not in RUNNERS[name][1]:
            raise ParameterError(f"--{key} has no meaning for {name}.")
    if name == "all":
        if data is not None:
            raise ParameterError("--data names one source's folder; for all, set PROPHASE_DATA.")
        reproduce_all(out or Path("reproduced"), parse_workers(workers), format, again=again)
        return
    if again:
        raise ParameterError("--again has no meaning for one source: it is always run.")
    found = Reproduced.run(name, data, options, parse_workers(workers))
    if out is not None:
        say(f"Wrote {found.write(out)}.")
    columns = COLUMNS.get(name, ())
    shown = [{key: row[key] for key in row if not columns or key in columns} for row in found.rows]
    emit(
        shown if format is Format.table else found.rows,
        format,
        document=finite(
            {
                "reproduced": name,
                "data": found.kind,
                "differing": found.differing,
                "verdicts": found.counts,
                "rows": found.rows,
                "tables_and_figures": found.contents(),
            }
        ),
        remarks=[*REMARKS.get(name, ()), *_reasons(found.rows), found.closing()],
        page=found.page,
    )
    if found.differing:
        raise typer.Exit(1)


def _reasons(rows: Rows) -> list[str]:
    return [f"{row['item']}: {row['reason']}." for row in rows if row.get("reason")]
