from __future__ import annotations

import numpy as np
import pytest

from prophase.sizing import make_online_sizer
from prophase.sizing.baselines.tovar import Tovar


def test_tovar_leaves_a_rare_heavy_run_to_the_second_attempt() -> None:
    sizer = Tovar()
    for peak in [1.0] * 19 + [10.0]:
        sizer.observe("a", {}, peak, 1.0, False)
    assert sizer.predict("a", {}) == 1.0
    assert sizer.retry("a", {}, 2, 1.0) == 10.0


def test_the_lines_of_witt_follow_the_input_and_stay_above_it() -> None:
    random = np.random.default_rng(0)
    for name in ("witt-std", "witt-max", "witt-waste"):
        sizer = make_online_sizer(name)
        for size in random.uniform(1, 10, 50):
            sizer.observe("a", {"input_gib": size}, 2 * size + random.normal(0, 0.1), 1.0, False)
        small = sizer.predict("a", {"input_gib": 2.0})
        large = sizer.predict("a", {"input_gib": 8.0})
        assert small == pytest.approx(4.0, abs=0.8)
        assert large == pytest.approx(16.0, abs=0.8)
        assert sizer.retry("a", {}, 2, small) == 2 * small


def test_a_profile_is_sized_as_one_group() -> None:
    sizer = make_online_sizer("profile")
    sizer.observe("a", {"profile": "heavy"}, 8.0, 1.0, False)
    assert sizer.predict("b", {"profile": "heavy"}) == 10.0
    assert sizer.predict("b", {"request_gib": 3.0}) == 3.0


def test_sizey_mixes_towards_the_model_that_fits() -> None:
    sizer = make_online_sizer("sizey")
    random = np.random.default_rng(1)
    for size in random.uniform(1, 10, 60):
        sizer.observe("a", {"input_gib": size}, 1 + size, 1.0, False)
    assert sizer.predict("a", {"input_gib": 9.0}) == pytest.approx(10.0, rel=0.1)
