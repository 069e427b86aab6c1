"""prophase reproduce: run published experiments again and say whether the numbers come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, emit, finite, progress_bar
from prophase.errors import ParameterError, nearest

Rows = list[dict[str, Any]]
Progress = Callable[[int, int], None]
#: what brings its own data
_WITHOUT_DATA = ("polaris", "thesis")


def command(
    name: Annotated[
        str,
        typer.Argument(help="What to reproduce: openb, pai-sim, polaris, ai4dl or thesis."),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the inputs and published results; polaris and thesis do without."
        ),
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

    Leaves with 1 if one of our replays differs from what was published. The verdicts on the
    PolarisProfiler paper (reproduced, contradicted, needs data) are results, and leave with 0,
    as are those on the load-aware scheduler thesis, whose data are not public.

    Examples:

    `prophase reproduce openb --data openb --lists default,gpuspec20 --seeds 42,43`

    `prophase reproduce pai-sim --data pai_sim`

    `prophase reproduce polaris`

    `prophase reproduce ai4dl --data ai4dl --figures drawn`

    `prophase reproduce thesis --figures thesis`
    """
    from prophase.sim.sweeping.workers import parse_workers

    if name not in SOURCES:
        raise ParameterError(
            f"{name!r} is nothing we can reproduce. {nearest(name, SOURCES)} "
            f"Known: {', '.join(SOURCES)}."
        )
    run, columns, remarks = SOURCES[name]
    if data is None and name not in _WITHOUT_DATA:
        raise ParameterError(f"{name} needs --data, the folder with its inputs and results.")
    options = {key: value for key, value in (("lists", lists), ("seeds", seeds)) if value}
    if figures is not None:
        if name not in ("ai4dl", "thesis"):
            raise ParameterError(f"--figures has no meaning for {name}.")
        options["figures"] = str(figures)
    if trials is not None:
        if name != "thesis":
            raise ParameterError(f"--trials has no meaning for {name}.")
        options["trials"] = str(trials)
    with progress_bar() as progress:
        rows = run(
            data,
            options,
            parse_workers(workers),
            lambda done, total: progress(f"{done} of {total} runs", 100 * done / total),
        )
    differing = sum(row["verdict"] == "DIFFERS" for row in rows)
    shown = [{key: row[key] for key in row if not columns or key in columns} for row in rows]
    emit(
        shown if format is Format.table else rows,
        format,
        document=finite({"reproduced": name, "differing": differing, "rows": rows}),
        remarks=[*remarks, *_reasons(rows), _closing(rows, differing)],
    )
    if differing:
        raise typer.Exit(1)


def _reasons(rows: Rows) -> list[str]:
    return [f"{row['item']}: {row['reason']}." for row in rows if row.get("reason")]


def _closing(rows: Rows, differing: int) -> str:
    if differing:
        return f"{differing} of {len(rows)} rows differ from what was published."
    if rows and "claim" in rows[0]:
        counts = Counter(str(row["verdict"]) for row in rows)
        return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) + "."
    return "Everything that has published numbers agrees with them."


def _openb(data: Path, options: dict[str, str], workers: int | str, progress: Progress) -> Rows:
    from prophase.sim.presets.openb_table import openb_table

    lists = [item.strip() for item in options.get("lists", "default").split(",")]
    if lists == ["all"]:
        lists = sorted(
            path.stem.removeprefix("openb_pod_list_") for path in data.glob("openb_pod_list_*.csv")
        )
    try:
        seeds = [int(item) for item in options.get("seeds", "42,43,44").split(",")]
    except ValueError as cause:
        raise ParameterError(f"--seeds {options['seeds']}: give numbers such as 42,43.") from cause
    return openb_table(data, lists=lists, seeds=seeds, workers=workers, progress=progress)


def _pai_sim(data: Path, options: dict[str, str], workers: int | str, progress: Progress) -> Rows:
    from prophase.sim.presets.pai_table import pai_table

    if options:
        raise ParameterError(f"--{next(iter(options))} has no meaning for pai-sim.")
    return pai_table(data, workers=workers, progress=progress)


def _polaris(
    data: Path | None, options: dict[str, str], workers: int | str, progress: Progress
) -> Rows:
    from dataclasses import asdict

    from prophase.profile.polaris import reproduce

    if options:
        raise ParameterError(f"--{next(iter(options))} has no meaning for polaris.")
    return [asdict(item) for item in reproduce(data, progress=progress)]


def _ai4dl(data: Path, options: dict[str, str], workers: int | str, progress: Progress) -> Rows:
    from prophase.phase.ai4dl.walkthroughs import reproduce

    figures = options.pop("figures", None)
    if options:
        raise ParameterError(f"--{next(iter(options))} has no meaning for ai4dl.")
    return reproduce(data, figures=Path(figures) if figures else None, progress=progress)


def _thesis(
    data: Path | None, options: dict[str, str], workers: int | str, progress: Progress
) -> Rows:
    from prophase.sizing.thesis.reproducing import SEED, TRIALS, reproduce
    from prophase.trace.loading import open_trace
    from prophase.trace.synth import make_pipeline

    figures, seeds = options.pop("figures", None), options.pop("seeds", None)
    trials = int(options.pop("trials", TRIALS))
    if options:
        raise ParameterError(f"--{next(iter(options))} has no meaning for thesis.")
    if data is not None and seeds is not None:
        raise ParameterError("--seeds makes a synthetic pipeline, and --data brings one: give one.")
    try:
        seed = SEED if seeds is None else int(seeds)
    except ValueError as cause:
        raise ParameterError(f"--seeds {seeds}: the thesis takes one number.") from cause
    if data is None:
        jobs = make_pipeline(random_state=seed).jobs
    else:
        jobs = open_trace(data, tables=["jobs"]).jobs
    found = reproduce(jobs, trials=trials, progress=progress)
    if figures is not None:
        from prophase.plots.assess.writing import write_reproduction

        write_reproduction(found, jobs, Path(figures))
    return found.rows


#: name -> (what runs it, columns shown in the table or all, remarks)
SOURCES: dict[str, tuple[Callable[..., Rows], tuple[str, ...], tuple[str, ...]]] = {
    "openb": (
        _openb,
        (
            "list",
            "place",
            "allocation_at_100_pct",
            "allocation_at_100_pct_published",
            "fragmentation_ratio_at_90_pct",
            "fragmentation_ratio_at_90_pct_published",
            "max_deviation_allocation",
            "max_deviation_fragmentation_ratio",
            "verdict",
        ),
        (
            "Percent of the cluster's GPUs, mean over the seeds; max_deviation: percentage points, "
            "over all points 0..130 % of every curve (random: of the mean curve).",
        ),
    ),
    "pai-sim": (_pai_sim, (), ()),
    "ai4dl": (_ai4dl, ("item", "published", "ours", "verdict"), ()),
    "polaris": (_polaris, ("item", "claim", "published", "ours", "verdict"), ()),
    "thesis": (
        _thesis,
        ("item", "claim", "published", "ours", "verdict"),
        (
            'The thesis\' data are not public: "in kind" compares with a synthetic pipeline of '
            'the same shape; "reproduced" comes out of the tables\' own inputs.',
            "Best models are the best on the test runs, as in the thesis; one under-estimate of "
            "292 test runs is 3.4 points of u_score.",
        ),
    ),
}
