"""prophase reproduce: run published experiments again and say whether the numbers come out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    completed,
    finite,
    say,
    show_result,
)
from prophase.cli.reproductions import RUNNERS, Reproduced
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import FiguresOption, ReportOption, WorkersOption
from prophase.errors import ParameterError, ProphaseError, not_among
from prophase.json_types import JsonObject
from prophase.result import Result


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="What to reproduce: polaris, ai4dl, thesis, mlaas, openb, pai-sim, hydra, helios, "
            "tiresias, or all."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the inputs and published results. Without it, the source's folder "
            "below PROPHASE_DATA; without that, synthetic data."
        ),
    ] = None,
    report: Annotated[ReportOption, Formerly("--out")] = None,
    lists: Annotated[
        str | None, typer.Option(help="openb: pod lists, e.g. default,gpuspec20; or all.")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--trial-seeds",
            help="openb: seeds of the arrival orders [default: 42,43,44]; thesis: seeds of the "
            "synthetic pipeline, models with the first, spread over all [default: 112,0,...,19].",
        ),
        Formerly("--seeds"),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="thesis: settings tried for each of its 36 models. [default: 12]"),
    ] = None,
    workers: WorkersOption = "0",
    figures: FiguresOption = None,
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

    `prophase reproduce all --report reproduced`

    `prophase reproduce openb --data openb --lists default,gpuspec20 --trial-seeds 42,43`

    `prophase reproduce pai-sim --data pai_sim`

    `prophase reproduce polaris --format html > polaris.html`

    `prophase reproduce ai4dl --data ai4dl --figures drawn`

    `prophase reproduce thesis --figures thesis`
    """
    from prophase.workers import parse_workers

    if name not in (*RUNNERS, "all"):
        said = f"{name!r} is nothing we can reproduce."
        raise ParameterError(not_among(said, name, [*RUNNERS, "all"]))
    given = {"lists": lists, "seeds": seeds, "trials": trials, "figures": figures}
    options = {key: str(value) for key, value in given.items() if value is not None}
    for key in options:
        if name == "all" or key not in RUNNERS[name][1]:
            raise ParameterError(f"--{key} has no meaning for {name}.")
    if name == "all":
        if data is not None:
            raise ParameterError("--data names one source's folder; for all, set PROPHASE_DATA.")
        reproduce_all(report or Path("reproduced"), parse_workers(workers), format, again=again)
        return
    if again:
        raise ParameterError("--again has no meaning for one source: it is always run.")
    found = Reproduced.run(name, data, options, parse_workers(workers))
    if report is not None:
        say(f"Wrote {found.write(report)}.")
    show_result(found.result(), format)
    if found.differing:
        raise typer.Exit(1)


_CACHE = ".cache"
_VERDICTS = ("reproduced", "contradicted", "needs data", "in kind", "differs in kind")


def reproduce_all(out: Path, workers: int | str, format: Format, *, again: bool) -> None:
    """Run every source that has changed, write its report, and list how it went."""
    rows: list[JsonObject] = []
    failures: dict[str, str] = {}
    differing = 0
    for name in RUNNERS:
        try:
            found, fresh = _found(name, out, workers, again=again)
            page = found.write(out)
        except Exception as cause:
            # one source that fails is named; the others are worth having
            failures[name] = f"{cause}" if isinstance(cause, ProphaseError) else repr(cause)
            say(f"{name}: cannot be run. {failures[name]}")
            continue
        say(f"{name}: {page}" if fresh else f"{name}: {page}, as before; --again runs it again")
        differing += found.differing
        counts = {word.replace(" ", "_"): found.counts.get(word, 0) for word in _VERDICTS}
        rows.append({"source": name, "data": found.kind, **counts, "report": str(page)})
    index = _index(out, rows, failures)
    remarks = [f"{name} failed: {words}" for name, words in failures.items()]
    document = {"sources": rows, "differing": differing, "failed": failures, "page": str(index)}
    show_result(
        Result.of_rows("reproduce-all", rows, values=document, notes=[*remarks, f"Open {index}"]),
        format,
    )
    if differing or failures:
        raise typer.Exit(1)


def _found(name: str, out: Path, workers: int | str, *, again: bool) -> tuple[Reproduced, bool]:
    """Return what comes out of a source, and whether it had to be run for that."""
    from prophase.papers.sources import data_of
    from prophase.study.steps.cache import StepCache, key_of

    data = data_of(name)
    cache, key = StepCache(out / _CACHE), key_of(name, {"data": _fingerprint(name, data)})
    held = None if again else cache.get(name, key)
    if held is not None:
        return Reproduced(name, data, {}, held["rows"], held["also"]), False
    say(f"{name} ...")
    found = Reproduced.run(name, None, {}, workers)
    kept = {"rows": finite(found.rows), "also": finite(found.also)}
    cache.put(name, key, finite(kept))
    return found, True


def _fingerprint(name: str, data: Path | None) -> list[tuple[str, int, int]]:
    """Return names, sizes and times of the files that a source reads."""
    from prophase.papers.sources import SOURCES
    from prophase.papers.stand_ins import beside

    if data is None:
        return []
    source = SOURCES[name]
    folders = [data / one for one in source.folders] if len(source.folders) > 1 else [data]
    folders += [one for related in source.related if (one := beside(data, related)) is not None]
    files = sorted(
        Path(root, file)
        for folder in folders
        for root, _, names in os.walk(folder)
        for file in names
    )
    return [(str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in files]


def _index(out: Path, rows: list[JsonObject], failures: dict[str, str]) -> Path:
    """Write the page that leads to the others."""
    from prophase.papers.sources import SOURCES
    from prophase.plots.result_files import write_page
    from prophase.result import Links, Note, Result, Section, Table, Text

    lines = [
        {"source": SOURCES[row["source"]].title, "data": row["data"],
         **{word: row[word.replace(" ", "_")] for word in _VERDICTS}}
        for row in rows
    ]  # fmt: skip
    links = [(SOURCES[row["source"]].title, f"{row['source']}/report.html") for row in rows]
    lost = [Note(words, "bad", f"{name} could not be run") for name, words in failures.items()]
    total = sum(sum(int(row[word.replace(" ", "_")]) for word in _VERDICTS) for row in rows)
    words = Text(
        f"{total} statements of {len(rows)} sources. Reproduced and contradicted are said "
        "of a source's own inputs only; in kind, of other data than the printed numbers "
        "were made from. Each page lists every table and figure with its command."
    )
    index = Result(
        "reproduce",
        "Published results, run again",
        "Do the numbers of the papers and programs behind Prophase come out again?",
        sections=[
            Section("lead", "", [*lost, words]),
            Section("sources", "Sources", [Table("sources", lines), Links(links)]),
        ],
    )
    target = out / "index.html"
    write_page(completed(index), target)
    return target
