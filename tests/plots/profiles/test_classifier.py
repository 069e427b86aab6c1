from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.plots.profiles.classifier import (
    confusion_matrix,
    importance_bars,
    job_bars,
    shap_bars,
    tree_figure,
)
from prophase.profile.classify.classifier_comparison import score
from prophase.profile.classify.explanation import JobExplanation, ShapSummary, SplitNode


def test_the_confusion_matrix_marks_profiles_that_no_answer_named() -> None:
    report = score(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 2]), (7, 8, 9), np.arange(3))
    axes = confusion_matrix(report, "rules").axes[0]
    labels = {word.get_text(): word.get_fontweight() for word in axes.get_yticklabels()}
    assert labels == {"7 (2)": "normal", "8 (1)": "bold", "9 (1)": "normal"}
    assert axes.get_title(loc="left") == "Accuracy 75.0% (rules)"


def test_bars_hold_the_values_in_order_and_group_small_profiles() -> None:
    table = pd.DataFrame(
        {
            "column": ["user", "task"],
            "value": ["ann", "ps"],
            "gain": [2.0, 1.0],
            "weight": [5, 3],
            "total_gain_pct": [70.0, 30.0],
        }
    )
    axes = importance_bars(table).axes[0]
    assert [word.get_text() for word in axes.get_yticklabels()] == ["task = ps", "user = ann"]
    per_profile = pd.DataFrame(np.ones((2, 9)), index=["user=ann", "task=ps"], columns=range(9))
    summary = ShapSummary(table, per_profile, table, 12)
    told = shap_bars(summary).axes[0].get_legend()
    assert told is not None
    assert told.get_texts()[-1].get_text() == "2 others"


def test_one_job_shows_what_pushed_it_where() -> None:
    pushes = pd.DataFrame(
        {
            "column": ["user", "group"],
            "value": pd.Series(["ann", None], dtype=object),
            "seen": [True, False],
            "push": [2.0, -0.5],
        }
    )
    axes = job_bars(JobExplanation(8, 0.9, 0.1, pushes), "j1").axes[0]
    assert [word.get_text() for word in axes.get_yticklabels()] == ["no group", "user = ann"]
    assert axes.get_xlim()[0] < -0.5


def test_a_tree_is_drawn_with_its_questions_and_leaves() -> None:
    leaf, other = SplitNode("+0.3", 0.3), SplitNode("-0.1", -0.1)
    root = SplitNode("user is ann?", 0.0, (leaf, SplitNode("task is ps?", 0.0, (leaf, other))))
    axes = tree_figure(root, "8", 0).axes[0]
    words = [one.get_text().strip() for one in axes.texts]
    assert words.count("yes") == words.count("no") == 2
    assert [one for one in words if one.endswith("?")] == ["task is ps?", "user is ann?"]
    assert [one for one in words if one[0] in "+-"] == ["+0.3", "+0.3", "-0.1"]
