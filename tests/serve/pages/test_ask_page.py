"""What the page of one question shows, made without a service."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile import ask, learn
from prophase.profile.predict.job_model import JobModel
from prophase.serve.pages.ask import _fields, _told


@pytest.fixture(scope="module")
def model() -> JobModel:
    draw = np.random.default_rng(7)
    rows = np.arange(300)
    runs = np.where(draw.random(300) < 0.3, draw.uniform(3, 9, 300), draw.normal(7200, 300, 300))
    runs = np.where(rows % 3, runs, draw.normal(600, 20, 300))
    name = np.where(rows % 3, "train-lr", "eval-lr") + pd.Series(rows % 50).astype(str)
    return learn(pd.DataFrame({"user": "ann", "name": name, "duration_s": runs,
                               "submit_s": 9000.0 * rows}), ["duration_s"])  # fmt: skip


def test_jobs_that_differ_too_much_for_one_number_are_told_in_the_words_of_the_command(
    model: JobModel,
) -> None:
    answer = ask(model, {"name": "train-lr7"})
    first = _told(answer)["first"]
    assert first["shape"]
    assert first["shape"] in answer.lines()[1]


def test_the_form_asks_for_nothing_that_is_read_off_another_field(model: JobModel) -> None:
    assert "folded_name" in model.columns
    assert [one["name"] for one in _fields(model)] == ["name"]
