from __future__ import annotations

import math

import numpy as np
import pytest

from prophase.sizing.least_waste.sizer import LeastWaste

ASKED = {"workflow": "w", "request_gib": 32.0, "cpus": 2.0, "submit_s": 0.0}


def _taught(peaks: list[float], **features: float) -> LeastWaste:
    sizer = LeastWaste()
    for peak in peaks:
        sizer.observe("align", {**ASKED, **features}, peak, 0.5, False)
    return sizer


def test_an_unknown_task_gets_its_request() -> None:
    assert LeastWaste().predict("align", ASKED) == 32.0


def test_an_unknown_task_without_a_request_gets_a_usual_amount() -> None:
    assert LeastWaste().predict("align", {}) > 0


def test_after_many_like_runs_the_request_is_a_little_above_the_peak() -> None:
    peaks = list(np.random.default_rng(0).normal(4.0, 0.05, 60))
    assert 4.0 < _taught(peaks).predict("align", ASKED) < 4.5


def test_requests_narrow_as_runs_come_in() -> None:
    peaks = np.random.default_rng(0).normal(4.0, 0.02, 100)
    asked = [_taught(list(peaks[:count])).predict("align", ASKED) for count in (0, 3, 100)]
    assert asked[0] > asked[1] > peaks.max() * 0.99
    assert asked[2] < peaks.max() * 1.02


def test_a_task_whose_peak_follows_its_input_is_sized_by_it() -> None:
    sizer = LeastWaste()
    sizes = np.random.default_rng(0).uniform(1, 10, 60)
    for size in sizes:
        sizer.observe("align", {**ASKED, "input_gib": size}, 1.0 + 2.0 * size, 0.5, False)
    for size in (2.0, 9.0):
        asked = sizer.predict("align", {**ASKED, "input_gib": size})
        assert 1.0 + 2.0 * size <= asked < 1.3 * (1.0 + 2.0 * size)


def test_counters_of_a_finished_task_of_the_same_sample_foretell_the_peak() -> None:
    sizer = LeastWaste()
    random = np.random.default_rng(0)
    for number in range(40):
        size = float(random.uniform(1, 10))
        tag = {**ASKED, "tag": f"sample{number}"}
        sizer.observe("trim", {**tag, "post": {"wchar": size * 2**30}}, 0.5, 0.1, False)
        asked = sizer.predict("align", tag)
        if number > 30:
            assert 2.0 * size <= asked < 2.0 * size * 1.35
        sizer.observe("align", tag, 2.0 * size, 0.5, False)


def test_a_killed_run_raises_the_next_request() -> None:
    sizer = _taught([4.0] * 20)
    before = sizer.predict("align", ASKED)
    sizer.observe("align", ASKED, before, 0.5, True)
    assert sizer.predict("align", ASKED) > before


def test_a_kill_that_no_run_confirms_is_forgotten() -> None:
    sizer = _taught([4.0] * 20)
    sizer.observe("align", ASKED, 30.0, 0.5, True)
    assert sizer.predict("align", ASKED) > 30
    for _ in range(5):
        sizer.observe("align", ASKED, 4.0, 0.5, False)
    assert sizer.predict("align", ASKED) < 6


def test_a_success_explains_the_kills_before_it() -> None:
    sizer = _taught([4.0] * 20)
    sizer.observe("align", ASKED, 4.2, 0.5, True)
    sizer.observe("align", ASKED, 4.4, 0.5, False)
    assert sizer.histories_["align"].bounds == []


def test_retries_climb_and_end_at_the_request() -> None:
    sizer = _taught(list(np.linspace(3, 6, 20)))
    asked = [sizer.predict("align", ASKED)]
    for attempt in (2, 3, 4, 5):
        asked.append(sizer.retry("align", ASKED, attempt, asked[-1]))
    assert asked == sorted(asked)
    assert 32.0 in asked[:5]


def test_new_code_starts_over() -> None:
    sizer = LeastWaste()
    for _ in range(20):
        sizer.observe("align", {**ASKED, "version": "1"}, 4.0, 0.5, False)
    assert sizer.predict("align", {**ASKED, "version": "1"}) < 6
    assert sizer.predict("align", {**ASKED, "version": "2"}) == 32.0
    sizer.observe("align", {**ASKED, "version": "2"}, 9.0, 0.5, False)
    assert sizer.histories_["align"].count == 1


def test_a_task_that_needs_more_than_before_forgets_its_past() -> None:
    random = np.random.default_rng(0)
    sizer = _taught(list(random.normal(4.0, 0.1, 60)))
    for peak in random.normal(6.4, 0.1, 15):
        sizer.observe("align", ASKED, float(peak), 0.5, False)
    history = sizer.histories_["align"]
    assert history.changes == 1
    assert history.peaks.min() > 5.0


def test_a_task_that_stays_as_it_is_keeps_its_past() -> None:
    random = np.random.default_rng(0)
    sizer = _taught(list(random.lognormal(1.0, 0.5, 300)))
    assert sizer.histories_["align"].changes == 0


@pytest.mark.parametrize(
    "features",
    [
        {},
        {"request_gib": math.nan, "input_gib": math.nan, "tag": None, "cpus": None},
        {"request_gib": "many", "input_gib": "-", "tag": 17, "post": None},
        {"request_gib": -1, "input_gib": 0, "tag": "", "post": {"rchar": "x", "wchar": -3}},
    ],
)
def test_broken_features_are_as_good_as_none(features: dict[str, object]) -> None:
    sizer = LeastWaste()
    for peak in (2.0, 3.0, math.nan, -1.0, 0.0, 2.5):
        assert sizer.predict("align", features) > 0
        sizer.observe("align", features, peak, math.nan, False)
    assert sizer.retry("align", features, 2, 3.0) > 3.0
    assert sizer.histories_["align"].count == 3


def test_a_chosen_risk_is_kept() -> None:
    random = np.random.default_rng(2)
    for risk in (0.05,):
        sizer, kills = LeastWaste(risk), 0
        for number in range(1000):
            task = f"task{number % 5}"
            peak = float(random.lognormal(1.0, 0.3))
            asked = sizer.predict(task, ASKED)
            if asked < peak:
                kills += 1
                sizer.observe(task, ASKED, asked, 0.5, True)
            sizer.observe(task, ASKED, peak, 0.5, False)
        assert abs(kills / 1000 - risk) < 0.01


def test_runs_that_begin_together_are_not_sized_by_a_view_that_is_not_shown_to_hold() -> None:
    """Runs with a small input needed little so far; many of them begin before the next reports."""
    sizer = LeastWaste(0.01)
    for number in range(60):
        small = number % 2 == 0
        known = {**ASKED, "input_gib": 1.0 if small else 8.0}
        sizer.observe("align", known, 2.0 if small else 16.0, 0.5, False)
    small = {**ASKED, "input_gib": 1.0}
    assert sizer.predict("align", small) < 4.0
    assert sizer.predict("align", {**small, "submit_s": 1.0}) >= 16.0


def test_old_runs_are_forgotten() -> None:
    sizer = _taught([1.0] * 500 + [2.0] * 500)
    assert sizer.histories_["align"].count <= sizer.settings.remembered * 2


def test_a_text_known_at_submission_distinguishes_tasks() -> None:
    sizer = LeastWaste()
    random = np.random.default_rng(0)
    for number in range(60):
        region = ("north", "south")[number % 2]
        peak = (2.0 if region == "north" else 9.0) * random.lognormal(0.0, 0.02)
        sizer.observe("plan", {**ASKED, "region": region}, peak, 0.5, False)
    assert sizer.predict("plan", {**ASKED, "region": "north"}) < 3.0
    assert sizer.predict("plan", {**ASKED, "region": "south"}) > 9.0


def test_no_first_request_is_below_the_least_unless_users_ask_for_less() -> None:
    sizer = _taught([0.002] * 40)
    assert sizer.predict("align", ASKED) == sizer.settings.least
    assert sizer.predict("align", {**ASKED, "request_gib": 0.01}) <= 0.01


def test_without_a_risk_kills_become_dearer_once_a_tenth_is_killed() -> None:
    sizer = LeastWaste()
    random = np.random.default_rng(0)
    killed = 0
    for number in range(400):
        features = {"workflow": "w", "tag": f"run{number}"}
        # a few heavy among many light ones: least waste alone would let every heavy one die
        peak = 1.0 if random.random() < 0.75 else 2.9
        asked = sizer.predict("align", features)
        if asked < peak:
            killed += number >= 100
            sizer.observe("align", features, asked, 0.01, True)
        sizer.observe("align", features, peak, 0.01, False)
    assert killed / 300 < 0.16


@pytest.mark.parametrize("risk", [None, 0.01])
def test_a_retry_climbs_instead_of_asking_for_the_whole(risk: float | None) -> None:
    sizer = LeastWaste(risk)
    for peak in np.random.default_rng(0).normal(4.0, 0.2, 30):
        sizer.observe("align", {**ASKED, "request_gib": 256.0}, float(peak), 0.5, False)
    asked = sizer.predict("align", {**ASKED, "request_gib": 256.0})
    again = sizer.retry("align", {**ASKED, "request_gib": 256.0}, 2, asked)
    assert asked < again < 32.0


def test_runs_that_began_together_are_surprises_by_what_was_known_then() -> None:
    sizer = LeastWaste()
    for number, peak in enumerate((2.0, 2.0, 4.0, 4.0)):
        known = {"tag": f"asm{number // 2} s{number}", "request_gib": 8.0, "submit_s": number}
        sizer.predict("align", known)
        sizer.observe("align", known, peak, 1.0, False)
    together = [{"tag": f"asm1 t{n}", "request_gib": 8.0, "submit_s": 10.0 + n} for n in range(3)]
    for known in together:
        sizer.predict("align", known)
    for known in together:
        sizer.observe("align", known, 8.0, 1.0, False)
    # all three were twice what asm1 had shown, not only the first of them to report
    assert np.allclose(sizer.histories_["align"].surprises[-3:], np.log(2.0))
