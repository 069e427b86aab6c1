"""prophase reproduce: run published experiments again and say whether the numbers come out."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, emit, finite, progress_bar, say
from prophase.cli.reproduce_sources import COLUMNS, REMARKS, RUNNERS, Options, Rows
from prophase.errors import ParameterError, nearest

if TYPE_CHECKING:
    from prophase.plots.page import Page
    from prophase.study.report import Report


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
    format: FormatOption = Format.table,
) -> None:
    """Repeat published experiments and put our numbers beside the published ones.

    Every table and figure is reproduced, contradicted, or needs data; on data that are not the
    source's own it holds or differs in kind. Leaves with 1 if one of our replays differs from
    what was published; the verdicts on papers are results, and leave with 0.

    Examples:

    `prophase reproduce all --out reproduced`

    `prophase reproduce openb --data openb --lists default,gpuspec20 --seeds 42,43`

    `prophase reproduce pai-sim --data pai_sim`

    `prophase reproduce polaris --format html > polaris.html`

    `prophase reproduce ai4dl --data ai4dl --figures drawn`

    `prophase reproduce thesis --figures thesis`
    """
    from prophase.sim.sweeping.workers import parse_workers

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
        _all(out or Path("reproduced"), parse_workers(workers), format)
        return
    found = _Reproduced.run(name, data, options, parse_workers(workers))
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
            }
        ),
        remarks=[*REMARKS.get(name, ()), *_reasons(found.rows), found.closing()],
        page=found.page,
    )
    if found.differing:
        raise typer.Exit(1)


class _Reproduced:
    """What came out of one source."""

    def __init__(self, name: str, data: Path | None, options: Options, rows: Rows) -> None:
        from prophase.study.reproducing import claims_of, counts_of

        self.name, self.data, self.options, self.rows = name, data, options, rows
        self.claims = claims_of(name, rows)
        self.counts = counts_of(self.claims)
        self.differing = sum(row["verdict"] == "DIFFERS" for row in rows)
        self.kind = "synthetic" if data is None else "real"

    @classmethod
    def run(
        cls, name: str, given: Path | None, options: Options, workers: int | str
    ) -> _Reproduced:
        from prophase.study.reproducing import data_of

        data = data_of(name, given)
        with progress_bar() as progress:
            rows = RUNNERS[name][0](
                data,
                options,
                workers,
                lambda done, total: progress(f"{name}: {done} of {total}", 100 * done / total),
            )
        return cls(name, data, options, rows)

    def report(self) -> Report:
        from prophase.study.report import DataUsed
        from prophase.study.reproducing import SOURCES, reproduction_report

        source = SOURCES[self.name]
        words = source.stand_in
        if self.data is not None:
            words = ", ".join(source.folders) or self.data.name
        return reproduction_report(
            self.name,
            self.claims,
            data=[DataUsed(words, kind=self.kind)],
            real=self.data is not None,
            command=self._command(),
            remarks=REMARKS.get(self.name, ()),
        )

    def page(self) -> Page:
        from prophase.plots.report import report_page

        return report_page(self.report())

    def write(self, folder: Path) -> Path:
        from prophase.plots.report import write_report

        return write_report(self.report(), folder / self.name)

    def closing(self) -> str:
        if self.differing:
            return f"{self.differing} of {len(self.rows)} rows differ from what was published."
        origin = "real data" if self.data is not None else "synthetic data"
        if self.rows and "claim" not in self.rows[0] and self.data is not None:
            return "Everything that has published numbers agrees with them."
        counts = Counter(str(row["verdict"]) for row in self.rows)
        words = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        return f"On {origin}: {words}."

    def _command(self) -> str:
        parts = ["prophase", "reproduce", self.name]
        if self.data is not None:
            parts += ["--data", self.data.name]
        for key, value in self.options.items():
            parts += [f"--{key}", value]
        return shlex.join(parts)


def _all(out: Path, workers: int | str, format: Format) -> None:
    """Run every source, write its report, and list how it went."""
    rows: list[dict[str, Any]] = []
    differing = 0
    for name in RUNNERS:
        say(f"{name} ...")
        found = _Reproduced.run(name, None, {}, workers)
        page = found.write(out)
        differing += found.differing
        words = ("reproduced", "contradicted", "needs data", "in kind", "differs in kind")
        counts = {word.replace(" ", "_"): found.counts.get(word, 0) for word in words}
        rows.append({"source": name, "data": found.kind, **counts, "report": str(page)})
    emit(rows, format, document={"sources": rows, "differing": differing})
    if differing:
        raise typer.Exit(1)


def _reasons(rows: Rows) -> list[str]:
    return [f"{row['item']}: {row['reason']}." for row in rows if row.get("reason")]
