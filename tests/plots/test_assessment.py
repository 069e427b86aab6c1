from __future__ import annotations

import pandas as pd
import pytest
from tests.sizing.assess.made_runs import light_and_heavy

from prophase.papers.thesis.figures import confusion_matrices
from prophase.plots.assessment import (
    cluster_boxes,
    driver_bars,
    memory_boxes,
    utilisation_bars,
    write_assessment,
)
from prophase.sizing.assess.assessment import assess
from prophase.sizing.bins.experiments import run_experiments


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return light_and_heavy(80)


@pytest.fixture(scope="module")
def found(runs):
    return assess(runs)


def test_boxes_show_all_runs_beside_the_low_end(runs, found):
    whole, near = memory_boxes(runs, found.tasks).axes
    assert near.get_xlim()[1] <= whole.get_xlim()[1] / 2
    assert [word.get_text() for word in whole.get_yticklabels()] == ["load", "train"]


def test_there_is_no_low_end_where_tasks_are_alike_and_long_names_stay_apart():
    names = [f"NFCORE_RNASEQ:RNASEQ:QUANTIFY_STAR_SALMON:SALMON_{end}" for end in ("A", "B")]
    runs = pd.DataFrame({"task": names * 20, "memory_peak_gib": [4.0, 5.0] * 20})
    (only,) = memory_boxes(runs, pd.DataFrame({"task": names, "cluster": "heavy"})).axes
    shown = [word.get_text() for word in only.get_yticklabels()]
    assert shown == ["…QUANTIFY_STAR_SALMON:SALMON_A", "…QUANTIFY_STAR_SALMON:SALMON_B"]


def test_groups_are_drawn_with_their_statistics(runs, found):
    axes = cluster_boxes(runs, found.tasks, found.clusters).axes[0]
    words = [word.get_text() for word in axes.get_xticklabels()]
    assert words[0].startswith("light: 1 task, 80 runs")
    assert "log scale" in axes.get_ylabel()


def test_every_resource_gets_its_bars(found):
    figure = utilisation_bars(found.utilisation)
    assert {axes.get_title(loc="left") for axes in figure.axes} == {"cpu", "memory"}


def test_drivers_are_drawn_most_important_on_top(found):
    axes = driver_bars("train", found.drivers["train"]).axes[0]
    assert axes.get_yticklabels()[-1].get_text() == "attr_rows"


def test_matrices_say_accuracy_and_under_estimates(runs):
    made = run_experiments(
        runs[runs["task"] == "train"], [(10.0, 350.0)], classifiers=["svm"], samplings=["none"],
        trials=1,
    )  # fmt: skip
    axes = confusion_matrices(made, "title").axes[0]
    assert "u_rate" in axes.get_title(loc="left")
    shown = sum(int(text.get_text()) for text in axes.texts)
    assert shown == made[0].score.total


def test_figures_and_tables_are_written(runs, found, tmp_path):
    names = write_assessment(found, runs, tmp_path / "out")
    assert {"memory-boxes.png", "clusters.png", "tasks.csv"} <= set(names)
    assert all((tmp_path / "out" / name).stat().st_size > 0 for name in names)
