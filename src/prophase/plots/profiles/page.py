"""The page of profiles: every figure, with a link to the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from prophase.errors import storage_error
from prophase.json_types import JsonObject
from prophase.plots.profiles.figures import ProfileFigure, profile_figures
from prophase.plots.result_files import write_page
from prophase.plots.style import save
from prophase.profile.clusters.profiler import Recognised, WorkloadProfiler
from prophase.result import (
    Block,
    Bullets,
    Fact,
    Links,
    Note,
    Picture,
    Provenance,
    Result,
    Section,
    Table,
)

PAGE = "index.html"


def write_profile_page(
    profiler: WorkloadProfiler,
    found: Recognised,
    folder: Path,
    *,
    top: int = 10,
    about: Mapping[str, str] | None = None,
) -> list[str]:
    """Write every figure as PNG, its numbers as CSV, and one page that shows all.

    Parameters
    ----------
    folder : Path
        Where to; made if it is not there.
    top : int, default=10
        Values of a metadata column that have a row of their own.
    about : mapping, optional
        What closes the page: data, command.

    Returns
    -------
    list of str
        Names of the figures.
    """
    figures = []
    for item in profile_figures(profiler, found, top=top):
        save(item.figure, folder, item.name, formats=["png"])
        try:
            item.table.to_csv(folder / f"{item.name}.csv", index=False)
        except OSError as cause:
            raise storage_error(cause, folder) from cause
        figures.append(item)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    write_page(_page(profiler, found, figures, about or {}), folder / PAGE)
    return [item.name for item in figures]


def _page(
    profiler: WorkloadProfiler,
    found: Recognised,
    figures: list[ProfileFigure],
    about: Mapping[str, str],
) -> Result:
    told = profiler.statistics_
    first: list[Block] = []
    if not found.learnt:
        first.append(
            Note(
                "These are not the jobs that the profiles were learnt from; each was given the "
                "profile of its nearest known member.",
                "warning",
                "Other jobs.",
            )
        )
    if profiler.notes_:
        first.append(Bullets(list(profiler.notes_)))
    sections = [
        Section("lead", "", first),
        Section("profiles", "Profiles", [Table("profiles", _overview(profiler))]),
    ]
    for chapter, items in groupby(figures, key=lambda item: item.chapter):
        held = list(items)
        blocks: list[Block] = [
            Picture(item.name, item.figure, item.caption, as_bitmap=item.name == "silhouette")
            for item in held
        ]
        blocks.append(Links([(f"{item.name}.csv", f"{item.name}.csv") for item in held]))
        sections.append(Section(chapter, chapter, blocks))
    return Result(
        "profiles",
        "Profiles of jobs",
        facts=[
            Fact("profiles", "profiles", told["n_clusters"]),
            Fact("jobs", "jobs", len(found.jobs)),
            Fact("outliers", "outliers", 100 * float((found.labels < 0).mean()), "%"),
            Fact("silhouette", "silhouette", told["silhouette"]),
        ],
        sections=sections,
        provenance=Provenance(about=about),
    )


def _overview(profiler: WorkloadProfiler) -> list[JsonObject]:
    return [
        {
            "profile": "outliers" if one.outliers else one.name,
            "jobs": one.n,
            "share": f"{one.share:.1%}",
            "strength": None if one.outliers else one.strength,
            "silhouette": one.separation.mean if one.separation else None,
            "doubtful": "doubtful" if one.separation and one.separation.doubtful else "",
            "set_apart_by": one.common(),
        }
        for one in sorted(profiler.profiles_, key=lambda each: (each.outliers, -each.n))
    ]
