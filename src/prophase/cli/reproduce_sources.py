"""How ``prophase reproduce`` runs each source: on its data if they are there, else in kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from prophase.errors import ParameterError

Rows = list[dict[str, Any]]
Options = dict[str, str]
Progress = Callable[[int, int], None]
Runner = Callable[[Path | None, Options, int | str, Progress], Rows]


def _openb(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.sim.presets.openb_table import openb_table

    if data is None:
        from prophase.study.reproducing.stand_ins import openb_stand_in

        return openb_stand_in()
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


def _pai_sim(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    if data is None:
        from prophase.study.reproducing.stand_ins import pai_sim_stand_in

        return pai_sim_stand_in()
    from prophase.sim.presets.pai_table import pai_table

    return pai_table(data, workers=workers, progress=progress)


def _polaris(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from dataclasses import asdict

    from prophase.profile.polaris import reproduce

    return [asdict(item) for item in reproduce(data, progress=progress)]


def _ai4dl(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.study.reproducing.phases import ai4dl_in_kind, ai4dl_stand_in

    if data is None:
        return ai4dl_stand_in()
    from prophase.phase.ai4dl.walkthroughs import reproduce

    figures = options.get("figures")
    rows = reproduce(data, figures=Path(figures) if figures else None, progress=progress)
    return rows + ai4dl_in_kind(data)


def _mlaas(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.study.reproducing.mlaas import mlaas_rows

    return mlaas_rows(data, progress=progress)


def _thesis(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.cli.made_from import open_trace
    from prophase.sizing.thesis.reproducing import SEED, TRIALS, reproduce
    from prophase.trace.synth import make_pipeline

    seeds, trials = options.get("seeds"), int(options.get("trials", TRIALS))
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
    if "figures" in options:
        from prophase.plots.assess.writing import write_reproduction

        write_reproduction(found, jobs, Path(options["figures"]))
    from prophase.runs.published import automation_rows

    return [*automation_rows(), *found.rows]


#: source -> what runs it, and the options it knows
RUNNERS: dict[str, tuple[Runner, tuple[str, ...]]] = {
    "polaris": (_polaris, ()),
    "ai4dl": (_ai4dl, ("figures",)),
    "thesis": (_thesis, ("figures", "seeds", "trials")),
    "mlaas": (_mlaas, ()),
    "openb": (_openb, ("lists", "seeds")),
    "pai-sim": (_pai_sim, ()),
}
#: columns that the printed table shows, if not all
COLUMNS = {
    "openb": (
        "item", "claim", "published", "ours",
        "list", "place", "allocation_at_100_pct", "allocation_at_100_pct_published",
        "fragmentation_ratio_at_90_pct", "fragmentation_ratio_at_90_pct_published",
        "max_deviation_allocation", "max_deviation_fragmentation_ratio", "verdict",
    ),
    "ai4dl": ("item", "claim", "published", "ours", "verdict"),
    "polaris": ("item", "claim", "published", "ours", "verdict"),
    "mlaas": ("item", "claim", "published", "ours", "verdict"),
    "thesis": ("item", "claim", "published", "ours", "verdict"),
}  # fmt: skip
#: what to keep in mind when reading the rows
REMARKS = {
    "openb": (
        "Percent of the cluster's GPUs, mean over the seeds; max_deviation: percentage points, "
        "over all points 0..130 % of every curve (random: of the mean curve).",
    ),
    "thesis": (
        'The thesis\' data are not public: "in kind" compares with a synthetic pipeline of '
        'the same shape; "reproduced" comes out of the tables\' own inputs.',
        "Best models are the best on the test runs, as in the thesis; one under-estimate of "
        "292 test runs is 3.4 points of u_score.",
    ),
}
