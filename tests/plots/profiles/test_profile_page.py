"""Figures say what the numbers say; a page holds them all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.plots.profiles.boxes import metric_boxes, silhouette_box_plot
from prophase.plots.profiles.figures import _maps, profile_figures
from prophase.plots.profiles.page import write_profile_page
from prophase.profile.clusters.figure_tables import box_statistics
from prophase.profile.clusters.generators.density import Hdbscan, Optics
from prophase.profile.clusters.profiler import Recognised, WorkloadProfiler


def _jobs() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 120)
    jobs = pd.DataFrame({"job_id": [f"j{n}" for n in range(120)]})
    jobs["workload"] = np.array(["bert", "ctr", "gnn"])[kind]
    jobs["cpu_mean_cores"] = np.array([1.0, 8.0, 20.0])[kind] + rng.normal(0, 0.1, 120)
    jobs["memory_peak_gib"] = np.array([60.0, 2.0, 30.0])[kind] + rng.normal(0, 0.5, 120)
    jobs["duration_s"] = rng.lognormal(5, 1, 120)
    jobs["gpu_type"] = np.where(rng.random(120) < 0.5, "T4", "V100")
    return jobs


JOBS = _jobs()


@pytest.fixture(scope="module")
def profiler() -> WorkloadProfiler:
    return WorkloadProfiler(Hdbscan(15, min_samples=5)).fit(JOBS)


def test_the_page_links_every_table_and_every_figure_has_one(
    profiler: WorkloadProfiler, tmp_path: Path
) -> None:
    found = profiler.recognise(JOBS)
    names = write_profile_page(profiler, found, tmp_path, about={"source": "csv"})
    expected = {"silhouette", "silhouette-boxes", "condensed-tree", "box-duration_s"}
    expected |= {"map-workload", "node-types", "transform", "durations", "box-cpu_mean_cores"}
    assert expected <= set(names)
    text = (tmp_path / "index.html").read_text()
    for name in names:
        assert f'href="{name}.csv"' in text
        assert (tmp_path / f"{name}.png").stat().st_size > 2000
        assert len(pd.read_csv(tmp_path / f"{name}.csv"))


def test_boxes_are_sorted_by_spread_with_the_deviations_written(
    profiler: WorkloadProfiler,
) -> None:
    labels = profiler.labels_.copy()
    labels[:10] = -1
    table = box_statistics(JOBS, labels, "duration_s")
    assert table is not None
    axes = metric_boxes(table).axes[0]
    words = [word.get_text() for word in axes.get_xticklabels()]
    assert words == [str(one).replace("-", "−") for one in table.boxes["profile"]]
    said = " ".join(text.get_text() for text in axes.texts)
    assert f"least {table.least_std:.3g} (profile {table.least_profile})" in said
    assert "the 10 outliers" in axes.get_xlabel()


def test_a_profile_with_many_negative_silhouettes_is_flagged() -> None:
    box = {"n": 9, "mean": 0.1, "std": 0.1, "whisker_low": -0.3, "q25": 0, "q50": 0.1}
    box |= {"q75": 0.2, "whisker_high": 0.3, "beyond": 0}
    table = pd.DataFrame(
        [{"profile": 0, **box, "negative_frac": 0.35}, {"profile": 1, **box, "negative_frac": 0.1}]
    )
    axes = silhouette_box_plot(table).axes[0]
    assert [text.get_text() for text in axes.texts] == ["35%"]
    assert "1 of 2 with over 20 % below 0" in axes.get_xlabel()


def test_optics_has_a_reachability_plot_and_no_tree() -> None:
    profiler = WorkloadProfiler(Optics(20)).fit(JOBS)
    names = [one.name for one in profile_figures(profiler, profiler.recognise(JOBS))]
    assert "reachability" in names
    assert "condensed-tree" not in names


def test_all_outliers_still_have_boxes_and_maps() -> None:
    profiler = WorkloadProfiler(Hdbscan(100, min_samples=100)).fit(JOBS)
    assert profiler.statistics_["n_clusters"] == 0
    found = profiler.recognise(JOBS)
    names = [one.name for one in profile_figures(profiler, found)]
    assert "box-duration_s" in names
    assert "map-workload" in names
    assert "silhouette" not in names


def test_jobs_without_duration_or_types_draw_what_they_can(profiler: WorkloadProfiler) -> None:
    poor = JOBS.drop(columns=["duration_s", "gpu_type"])
    found = Recognised(poor, profiler.labels_, profiler.strength_, profiler.scores_, True)
    names = [one.name for one in profile_figures(profiler, found)]
    assert "durations" not in names
    assert "node-types" not in names


def test_rows_of_numbered_jobs_are_mapped_by_parent_unless_they_have_names(
    profiler: WorkloadProfiler,
) -> None:
    numbered = JOBS[["job_id", "workload"]].assign(parent_id=[f"p{n // 30}" for n in range(120)])
    for jobs, by_parent in ((numbered, True), (numbered.assign(name="train"), False)):
        found = Recognised(jobs, profiler.labels_, profiler.strength_, profiler.scores_, True)
        maps = {one.name: one.table for one in _maps(found, 3)}
        assert ("map-parent_id" in maps, "map-name" in maps) == (by_parent, not by_parent)
        if by_parent:
            rows = maps["map-parent_id"].set_index("parent_id")["jobs"]
            assert rows.tolist() == [30, 30, 30, 30, 120]
