"""prophase profile grid: which clustering, transform, distance and least size?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    finite,
    progress_bar,
    say,
    show_result,
    write_tables,
)
from prophase.cli.profile.options import SAMPLE, LeakingOption, MinSamplesOption
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import SeedOption, WorkersOption
from prophase.cli.trace_options import SourceOption
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from prophase.papers.grid.statistics import FoundGrid


@dataclass(frozen=True)
class GridSettings:
    """What is combined."""

    algorithms: Annotated[str, typer.Option(help="Algorithms, joined by commas.")] = (
        "hdbscan,optics"
    )
    transforms: Annotated[str, typer.Option(help="Transforms, joined by commas.")] = (
        "standard,minmax,robust,power"
    )
    distances: Annotated[
        str, typer.Option(help="Distances, joined by commas."), Formerly("--metrics")
    ] = "euclidean,manhattan"
    sizes: Annotated[str, typer.Option(help="Least sizes of a profile, joined by commas.")] = (
        "50,100,200,300,400,600,1000"
    )
    min_samples: MinSamplesOption = None

    def plan(self, seed: int) -> JsonObject:
        """Return the plan by its names."""
        return {
            "algorithms": _words(self.algorithms),
            "transforms": _words(self.transforms),
            "metrics": _words(self.distances),
            "sizes": _numbers(self.sizes),
            "min_samples": self.min_samples,
            "random_state": seed,
        }


def command(
    path: Annotated[
        Path,
        typer.Argument(
            help="A workspace or trace to cluster; or a CSV file or folder with finished cells."
        ),
    ],
    grid: GridSettings,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for cells, tables and figures; a second call resumes there."),
    ] = None,
    ideal: Annotated[
        float, typer.Option(help="Number of profiles you want; two of the scores ask for it.")
    ] = 26,
    sample: Annotated[int | None, SAMPLE] = None,
    leaking: LeakingOption = False,
    workers: WorkersOption = "1",
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Cluster in every combination and choose one: Tables III and IV of the paper, and its scores.

    Each finished cell is kept at once in --out, so that a killed grid can be resumed. Two
    of the scores contain the number of profiles one wants; the remarks say what other numbers
    would have chosen. Finished cells, ours or the authors', can be read in place of a trace.

    Examples:

    `prophase profile grid ws --out grid --workers 0 --sample 20000`

    `prophase profile grid grid/cells.csv --ideal 10`
    """
    from prophase.papers.grid.plan import GridPlan
    from prophase.papers.grid.statistics import FoundGrid, read_grid

    if out is not None and out.exists() and not out.is_dir():
        raise ParameterError(f"--out {out}: is a file. Name a folder.")
    found = read_grid(path) if source is None else None
    notes: list[str] = []
    if found is None:
        plan = grid.plan(seed)
        GridPlan(**plan)
        cells, notes = _run(path, source, plan, out, sample, leaking, workers)
        found = FoundGrid(cells, published=False)
    _tell(found, ideal, notes, out, format)


def _run(
    path: Path,
    source: str | None,
    plan: JsonObject,
    out: Path | None,
    sample: int | None,
    leaking: bool,
    workers: str,
) -> tuple[pd.DataFrame, list[str]]:
    from prophase.cli.provenance import open_trace
    from prophase.papers.grid.plan import GridPlan, run_grid
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.usage_metrics import USAGE_METRICS, usage_features
    from prophase.workers import parse_workers

    share = parse_workers(workers)
    with progress_bar() as progress:
        progress("reading the trace", None)
        asked = ["job_id", "instances", *USAGE_METRICS.values()]
        trace = open_trace(path, source=source, tables=["jobs"], columns=asked)
        kept = ended_jobs(trace.jobs)
        notes, jobs = list(kept.notes), kept.jobs
        if sample is not None and sample < len(jobs):
            notes.append(f"A sample of {sample:,} of {len(jobs):,} jobs.")
            jobs = jobs.sample(sample, random_state=plan["random_state"]).reset_index(drop=True)
        large = [size for size in plan["sizes"] if 2 * size > len(jobs)]
        if large:
            left = ", ".join(map(str, large))
            notes.append(f"Least sizes left out: {left}; each is over half of {len(jobs):,} jobs.")
            plan = {**plan, "sizes": [size for size in plan["sizes"] if size not in large]}
        if not plan["sizes"]:
            raise ParameterError(f"--sizes: all are over half of {len(jobs):,} jobs.")
        features = usage_features(jobs, leaking=leaking)
        if out is None:
            say("Without --out FOLDER a grid that is killed starts from the beginning.")
        cells = run_grid(
            features,
            GridPlan(**plan),
            folder=out,
            workers=share,
            progress=lambda done, total: progress(f"{done} of {total} cells", 100 * done / total),
        )
    said = [text for text in dict.fromkeys(cells["note"]) if text]
    return cells, [*notes, *features.notes, *said[:1]]


def _tell(
    found: FoundGrid, ideal: float, notes: list[str], out: Path | None, format: Format
) -> None:
    from prophase.papers.grid.selection import (
        SCORES,
        axis_means,
        best_cell,
        best_per_algorithm,
        selection_scores,
        sensitivity,
    )
    from prophase.papers.grid.statistics import compare_with_table_iv, table_iv

    scored = selection_scores(found.cells, ideal)
    statistics = table_iv(found.cells).reset_index()
    chosen = {score: best_cell(found.cells, score, ideal) for score in SCORES}
    among = best_per_algorithm(found.cells, ideal)
    other_ideals = sensitivity(found.cells)
    tables = {
        "cells": scored,
        "table_iv": statistics,
        "sensitivity": other_ideals,
        "axis_means": axis_means(found.cells, ideal),
    }
    remarks = [*notes, *(_choice(score, cell) for score, cell in chosen.items())]
    for score, cells in among.items():
        remarks += [
            f"  of {algorithm} alone: {_choice(score, cell)}"
            for algorithm, cell in cells.items()
            if score == "separation" and algorithm != chosen[score]["algorithm"]
        ]
    remarks.append(_dependence(other_ideals))
    if found.published:
        tables["published"] = compare_with_table_iv(found.cells)
        remarks += _agreement(tables["published"])
    if out is not None:
        remarks.append(_write(out, tables))
    document = {
        "ideal_clusters": ideal,
        "chosen": chosen,
        "chosen_by_algorithm": among,
        "notes": notes,
        **{name: table.to_dict("records") for name, table in tables.items()},
    }
    rows: Any = (scored if format is Format.csv else statistics).to_dict("records")
    show_result(
        Result.of_rows("profile-grid", finite(rows), values=finite(document), notes=remarks),
        format,
    )


def _choice(score: str, cell: JsonObject) -> str:
    named = "-".join(
        f"{cell[axis]:g}" if axis == "min_cluster_size" else str(cell[axis])
        for axis in ("algorithm", "min_cluster_size", "transform", "metric")
        if axis in cell
    )
    return (
        f"Score {score} chooses {named}: {counted(int(cell['n_clusters']), 'profile')}, "
        f"{int(cell['n_outliers']):,} outliers, silhouette {cell['silhouette']:.3f}, score "
        f"{cell[f'score_{score}']:.3f}."
    )


def _dependence(table: pd.DataFrame) -> str:
    told = []
    for score, part in table.groupby("score", sort=False):
        counts = sorted({int(one) for one in part["n_clusters"]})
        told.append(f"{score} {', '.join(map(str, counts))}")
    low, high = table["ideal_clusters"].min(), table["ideal_clusters"].max()
    return f"Profiles chosen for ideals from {low:g} to {high:g}: {'; '.join(told)}."


def _agreement(compared: pd.DataFrame) -> list[str]:
    said = [
        f"{algorithm}: {int(part['agrees'].sum())} of {len(part)} numbers of the published "
        "Table IV come out."
        for algorithm, part in compared.groupby("algorithm")
    ]
    for row in compared[~compared["agrees"]].to_dict("records"):
        said.append(
            f"  {row['algorithm']} {row['statistic']} of {row['measure']}: published "
            f"{row['published']:g}, from the cells {row['ours']:.6g}."
        )
    return said


def _write(out: Path, tables: dict[str, pd.DataFrame]) -> str:
    from prophase.papers.grid.selection import SCORES
    from prophase.plots.profiles.clustering_grid import ideal_sensitivity, score_sensitivity
    from prophase.plots.style import save

    write_tables({name.replace("_", "-"): table for name, table in tables.items()}, out)
    for score in SCORES:
        save(score_sensitivity(tables["cells"], score), out, f"score-{score}", formats=["png"])
    save(ideal_sensitivity(tables["sensitivity"]), out, "ideals", formats=["png"])
    return f"Wrote {counted(len(tables), 'table')} and {len(SCORES) + 1} figures to {out}."


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in _words(text)]
    except ValueError as cause:
        raise ParameterError(f"--sizes {text}: give whole numbers such as 50,100.") from cause
