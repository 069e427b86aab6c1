from __future__ import annotations

import numpy as np
import pytest

from prophase.sizing.bins.sizer import FEWEST_RUNS, ThesisBins
from prophase.sizing.registry import make_online_sizer


@pytest.fixture(scope="module")
def taught() -> ThesisBins:
    sizer = make_online_sizer("thesis")
    assert isinstance(sizer, ThesisBins)
    rng = np.random.default_rng(0)
    for _ in range(120):
        size = float(np.exp(rng.normal(0, 1.5)))
        told = {"request_gib": 64.0, "input_gib": size, "tag": "a", "submit_s": 1.0}
        sizer.observe("align", told, min(1 + 2 * size, 60.0), 0.5, False)
    return sizer


def test_small_inputs_get_a_small_bin_and_large_ones_a_large_bin(taught):
    small = taught.predict("align", {"request_gib": 64.0, "input_gib": 0.1, "tag": "a"})
    large = taught.predict("align", {"request_gib": 64.0, "input_gib": 25.0, "tag": "a"})
    assert small < large <= 60.0


def test_a_new_task_keeps_its_request_until_it_has_enough_runs():
    sizer = ThesisBins()
    assert sizer.predict("new", {"request_gib": 16.0}) == 16.0
    for _ in range(FEWEST_RUNS - 1):
        sizer.observe("new", {"request_gib": 16.0}, 2.0, 1.0, False)
    assert sizer.predict("new", {"request_gib": 16.0}) == 16.0
    sizer.observe("new", {"request_gib": 16.0}, 2.0, 1.0, False)
    assert sizer.predict("new", {"request_gib": 16.0}) == 2.0


def test_a_task_without_request_and_history_gets_a_usual_amount():
    assert ThesisBins().predict("new", {}) > 0


def test_after_a_kill_the_next_bin_is_tried_then_the_double_up_to_the_request(taught):
    edges = taught.tasks_["align"].binning.edges_gib
    assert taught.retry("align", {"request_gib": 64.0}, 2, edges[0]) == edges[1]
    assert taught.retry("align", {"request_gib": 64.0}, 3, edges[-1]) == min(2 * edges[-1], 64.0)
    assert taught.retry("align", {}, 3, 200.0) == 400.0


def test_after_a_kill_the_next_prediction_rises_until_a_run_succeeds(taught):
    told = {"request_gib": 64.0, "input_gib": 0.1, "tag": "a"}
    before = taught.predict("align", told)
    taught.observe("align", told, before, 1.0, True)
    raised = taught.predict("align", told)
    assert raised > before
    taught.observe("align", told, raised, 1.0, True)
    assert taught.predict("align", told) > raised
    taught.observe("align", told, before, 1.0, False)
    assert taught.predict("align", told) == before


def test_zero_run_times_do_not_stop_it():
    sizer = ThesisBins()
    for number in range(40):
        sizer.observe(
            "t", {"request_gib": 8.0, "input_gib": float(number)}, 0.1 * number, 0.0, False
        )
    assert sizer.predict("t", {"request_gib": 8.0, "input_gib": 1.0}) > 0


def test_an_unknown_or_missing_feature_is_taken_as_usual(taught):
    assert taught.predict("align", {"request_gib": 64.0, "input_gib": "much"}) > 0
    assert taught.predict("align", {"request_gib": 64.0}) > 0
