from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.classify.probability_threshold import _line


def test_the_line_lies_where_nine_answers_in_ten_are_still_right() -> None:
    probability = np.repeat([0.9, 0.6, 0.3], 40)
    right = np.array([True] * 40 + [True] * 36 + [False] * 4 + [False] * 40)
    found = _line(probability, right, "on jobs")
    assert 0.3 < found.value < 0.6
    assert found.kept == pytest.approx(2 / 3)
    assert found.right == pytest.approx(0.95)


def test_where_every_answer_is_right_there_is_no_line() -> None:
    assert _line(np.linspace(0.2, 1, 50), np.ones(50, dtype=bool), "on jobs").value == 0.0


def test_where_no_line_helps_an_answer_has_to_beat_all_others_together() -> None:
    found = _line(np.linspace(0.2, 1, 50), np.zeros(50, dtype=bool), "on jobs")
    assert found.value == 0.5
    assert "no line makes 90% of the answers right" in found.sentence()


def test_the_line_keeps_its_promise_on_later_jobs() -> None:
    """One half of the users repeat themselves, the other half do anything."""
    draw = np.random.default_rng(1)
    count = 1_500
    user = draw.integers(0, 20, count)
    label = np.where(user < 10, user % 4, draw.integers(0, 4, count))
    jobs = pd.DataFrame({"user": [f"u{n}" for n in user], "submit_s": np.arange(count) * 1.0})
    jobs["end_s"] = jobs["submit_s"] + 0.5
    made = ProfileClassifier("rules").fit(jobs[:1_000], label[:1_000])
    told = made.assign(jobs[1_000:])
    known = (told["profile"] != "unknown").to_numpy()
    right = told["candidate"].to_numpy() == label[1_000:]
    assert 0.4 < known.mean() < 0.6
    assert right[known].mean() > 0.9
    assert right.mean() < 0.75
    assert "later jobs held out for it, the highest line of 3 such groups" in made.threshold_.why
    # without a clock, too
    again = ProfileClassifier("rules").fit(jobs[["user"]][:1_000], label[:1_000])
    assert "on 200 other jobs" in again.threshold_.why


def test_few_jobs_do_not_draw_a_line() -> None:
    jobs = pd.DataFrame({"user": ["ann", "bob"] * 20})
    made = ProfileClassifier("rules").fit(jobs, [1, 2] * 20)
    assert made.threshold_.value == 0.5
    assert made.threshold_.sentence() == (
        "Unknown below probability 0.50: too few jobs to learn a line from."
    )
