"""Every figure of a schedule draws, on small and large clusters, with and without GPUs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import _pylab_helpers

from prophase.plots.illustrations import with_schedule_figures
from prophase.plots.result_files import page_html, write_figures
from prophase.plots.schedule_figures import schedule_figures
from prophase.plots.schedule_gantt import gantt
from prophase.plots.schedule_over_time import queue_over_time
from prophase.result import Result
from prophase.sim import Cluster, Schedule, Workload, simulate
from prophase.sim.schedule_result import schedule_result


def busy(cluster: str | Cluster, count: int = 150, **columns: object) -> Schedule:
    random = np.random.default_rng(1)
    jobs = pd.DataFrame(
        {
            "job_id": [str(n) for n in range(count)],
            "user": random.choice(["ann", "<bob> & co"], count),
            "submit_s": 1.5e9 + np.sort(random.uniform(0, 20_000, count)),
            "duration_s": random.lognormal(7, 1.5, count),
            "request_gpus": random.choice([0.3, 0.5, 1.0, 2.0], count),
            **columns,
        }
    )
    machines = Cluster.parse(cluster) if isinstance(cluster, str) else cluster
    return simulate(Workload.from_jobs(jobs), machines)


def told(schedule: Schedule, clock: str = "") -> Result:
    return with_schedule_figures(schedule_result(schedule), schedule, clock=clock)


def test_a_busy_cluster_of_several_types_has_every_figure() -> None:
    figures = {one.key: one.figure for one in schedule_figures(busy("2x4 V100, 2x2 T4"))}
    assert list(figures) == ["states", "states-by-type", "queue", "waits", "nodes"]
    for name, figure in figures.items():
        assert figure.axes[0].get_title(loc="left"), name
    assert not _pylab_helpers.Gcf.figs


def test_bars_on_a_small_cluster_stay_inside_the_line_of_their_gpu() -> None:
    schedule = busy("2x4")
    figure = gantt(schedule, by="user")
    assert figure is not None
    axes = figure.axes[0]
    assert "a line per GPU" in axes.get_title(loc="left")
    boxes = [path.vertices for found in axes.collections for path in found.get_paths()]
    assert len(boxes) == int(np.bitwise_count(schedule.occupancy.gpu_bits).sum())
    for box in boxes:
        low, high = box[:, 1].min(), box[:, 1].max()
        assert np.floor(low + 1e-6) + 1 >= high - 1e-6


def test_a_large_cluster_becomes_a_heat_map_of_groups_of_nodes() -> None:
    figure = gantt(busy("300x8 V100, 100x2 T4"))
    assert figure is not None
    axes = figure.axes[0]
    assert len(axes.images) == 1
    assert axes.images[0].get_array().shape[0] <= 128
    assert "a row is 4 nodes" in axes.get_ylabel()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["T4", "V100"]


def test_a_log_without_gpus_is_drawn_by_cores() -> None:
    cores = Cluster.uniform(10, 0, cpu_cores=4.0)
    schedule = busy(cores, request_gpus=0.0, request_cpu_cores=2.0)
    figures = {one.key: one.figure for one in schedule_figures(schedule, clock="unix")}
    assert figures["states"].axes[0].get_ylabel() == "cores"
    assert "nodes" in figures


def test_what_nodes_do_not_state_is_not_drawn() -> None:
    schedule = busy(Cluster.uniform(2, 0), request_gpus=0.0, request_cpu_cores=2.0)
    assert list(schedule_figures(schedule)) == []
    assert "No job waited." in page_html(told(schedule))


def test_the_page_tells_numbers_classes_and_command() -> None:
    schedule = busy("2x4")
    found = schedule.metrics(by="user", prices={"gpu_hour": 2.0, "currency": "EUR"})
    text = page_html(with_schedule_figures(schedule_result(schedule, found), schedule, by="user"))
    assert "&lt;bob&gt; &amp; co" in text
    assert "By user" in text
    assert "jain_slowdown" in text
    assert "EUR" in text
    assert text.count("<figure>") == 4


@pytest.mark.parametrize("count", [1, 2])
def test_tiny_schedules_draw_without_a_warning(count: int) -> None:
    page_html(told(busy("1x2", count, duration_s=0.0)))
    page_html(told(busy("1x2", count)))


def test_a_page_stays_small_whatever_the_number_of_jobs() -> None:
    sizes = [len(page_html(told(busy("20x8", count)))) for count in (500, 5000)]
    assert sizes[1] < 1.5 * sizes[0] + 100_000


def test_figures_are_written_as_png_and_svg(tmp_path: Path) -> None:
    names = write_figures(told(busy("2x4")), tmp_path / "figures")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}.{ending}" for name in names for ending in ("png", "svg")
    }


def test_the_last_submission_is_marked_where_the_queue_empties_after_it():
    figure = queue_over_time(
        np.array([1.0, 2.0, 1.0]), np.zeros(3), np.array([0.0, 10.0, 20.0, 30.0]), last_s=20.0
    )
    marked = [line for line in figure.axes[0].lines if line.get_label() == "last submission"]
    assert len(marked) == 1
