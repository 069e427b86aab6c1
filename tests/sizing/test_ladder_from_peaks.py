from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from prophase.sizing.ladder_from_peaks import growth_to_come, ladder_of
from prophase.sizing.least_waste.sizer import LeastWaste
from prophase.sizing.resources import RESOURCES

MEMORY = RESOURCES["memory"]
LEAST, ANY = MEMORY.least, replace(MEMORY, least=0.0)


def test_no_first_request_is_below_the_floor_that_the_online_sizer_has() -> None:
    tiny = np.full(50, 0.003)
    sizer = LeastWaste()
    for peak in tiny:
        sizer.observe("t", {"request_gib": 8.0}, float(peak), 1.0, False)
    assert (
        ladder_of(tiny, 0.01, 8.0, MEMORY)[0] == sizer.predict("t", {"request_gib": 8.0}) == LEAST
    )


def test_who_asks_for_less_than_the_floor_is_not_asked_to_ask_for_more() -> None:
    assert ladder_of(np.full(50, 0.003), 0.01, 0.02, MEMORY)[0] == 0.02
    assert ladder_of(np.full(50, 0.003), 0.01, math.nan, MEMORY)[0] == LEAST


def test_rising_peaks_are_drawn_on_and_steady_or_falling_ones_are_not() -> None:
    noise = np.random.default_rng(0).lognormal(0.0, 0.1, 60)
    assert growth_to_come(noise) == 1.0
    assert growth_to_come(noise * np.linspace(2.0, 1.0, 60)) == 1.0
    assert 1.3 < growth_to_come(noise * np.linspace(1.0, 2.0, 60)) < 2.0
    assert growth_to_come(np.linspace(1.0, 9.0, 3)) == 1.0


def test_steady_peaks_seldom_look_as_if_they_rose() -> None:
    draws = np.random.default_rng(1).lognormal(0.0, 0.5, (600, 25))
    rose = np.mean([growth_to_come(row) > 1.0 for row in draws])
    assert rose < 0.025


@pytest.mark.parametrize("risk", [0.1, 0.02])
def test_the_first_rung_is_exceeded_by_no_more_than_the_risk(risk: float) -> None:
    rng = np.random.default_rng(2)
    killed = [
        np.mean(
            rng.lognormal(0.0, 0.4, 200) > ladder_of(rng.lognormal(0.0, 0.4, 60), risk, 50, ANY)[0]
        )
        for _ in range(200)
    ]
    assert np.mean(killed) < 1.3 * risk


@pytest.mark.parametrize("spread", [0.3, 0.7, 1.3])
def test_of_few_runs_the_first_rung_is_hardly_exceeded_more_often_than_asked(spread: float) -> None:
    rng = np.random.default_rng(3)
    later = np.sort(rng.lognormal(0.0, spread, 100_000))
    firsts = [ladder_of(rng.lognormal(0.0, spread, 12), 0.01, math.nan, ANY)[0] for _ in range(300)]
    assert np.mean(1 - np.searchsorted(later, firsts) / len(later)) < 0.02


def test_a_few_runs_at_two_levels_do_not_reach_far_beyond_the_higher_one() -> None:
    assert ladder_of(np.tile([1.0, 5.0], 30), 0.01, math.nan, ANY)[0] < 1.3 * 5.0


def test_room_is_added_only_where_it_costs_next_to_nothing() -> None:
    peaks = np.tile([0.9, 1.0, 1.1], 20)
    tight, roomy = ladder_of(peaks, 0.05, 8.0, ANY)[0], ladder_of(peaks, 0.05, 100.0, ANY)[0]
    assert tight < 1.2
    assert roomy == pytest.approx(2 * tight)
    assert ladder_of(peaks, 0.05, 30.0, ANY)[0] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("use", "rungs"), [(0.4, (0.4, 0.52, 8.0)), (0.9, (0.9, 2.0, 8.0)), (1.2, (2.0, 3.0, 8.0))]
)
def test_gpus_above_one_are_recommended_in_whole_numbers(
    use: float, rungs: tuple[float, ...]
) -> None:
    assert ladder_of(np.full(50, use), 0.02, 8.0, RESOURCES["gpu"]) == pytest.approx(rungs)


@pytest.mark.parametrize("per_day", [1, 10])
def test_a_time_limit_holds_where_the_runs_of_a_day_are_alike(per_day: int) -> None:
    rng, days = np.random.default_rng(4), 30
    limit = replace(RESOURCES["time"], room=1.0)

    def runs(count: int) -> np.ndarray:
        of_day = rng.normal(0.0, 0.8, count)
        return np.exp(np.repeat(of_day, per_day) + rng.normal(0.0, 0.1, count * per_day))

    when_s = np.repeat(86_400.0 * np.arange(days), per_day)
    firsts = [ladder_of(runs(days), 0.01, math.nan, limit, when_s)[0] for _ in range(200)]
    killed = [np.mean(runs(500) > first) for first in firsts]
    assert np.mean(killed) < 0.015
    alone = [ladder_of(runs(days), 0.01, math.nan, limit)[0] for _ in range(200)]
    assert per_day == 1 or np.mean([np.mean(runs(500) > first) for first in alone]) > 0.02


def test_equal_runs_of_a_few_days_get_a_limit_close_to_them() -> None:
    when_s = np.repeat(86_400.0 * np.arange(4), 10)
    first = ladder_of(np.full(40, 2.0), 0.01, 24.0, RESOURCES["time"], when_s)[0]
    assert first == pytest.approx(2.0 * 1.15 * RESOURCES["time"].room)
    uneven = np.tile([1.0, 2.0], 20)
    one_day = ladder_of(uneven, 0.01, 24.0, RESOURCES["time"], np.zeros(40))[0]
    assert one_day > 4 * first


def test_runs_that_come_in_groups_do_not_lose_their_room_at_the_first_hundred() -> None:
    """Samples of one execution are alike, and the next execution differs a little."""
    rng = np.random.default_rng(5)
    seen = np.concatenate([level * rng.normal(1.0, 0.01, 50) for level in (0.9, 1.0, 1.03)])
    later = 1.06 * rng.normal(1.0, 0.01, 300)
    assert np.mean(later > np.quantile(seen, 0.99)) > 0.5
    assert np.mean(later > ladder_of(seen, 0.01, 8.0, ANY)[0]) == 0.0
    many = np.tile(seen, 4)
    assert ladder_of(many, 0.01, 8.0, ANY)[0] < ladder_of(seen, 0.01, 8.0, ANY)[0]


def test_runs_of_many_samples_need_no_room_and_those_of_one_execution_do() -> None:
    peaks = np.random.default_rng(6).normal(10.0, 0.05, 120)
    samples, one = np.arange(120.0), np.zeros(120)
    assert ladder_of(peaks, 0.01, 16.0, ANY, None, samples)[0] < 1.02 * peaks.max()
    assert ladder_of(peaks, 0.01, 16.0, ANY, None, one)[0] == pytest.approx(1.15 * peaks.max())
    many = np.tile(peaks, 4)
    assert ladder_of(many, 0.01, 16.0, ANY, None, np.zeros(480))[0] > 1.1 * peaks.max()


def test_executions_that_differ_keep_their_room_however_many_runs_they_have() -> None:
    levels = np.repeat([1.0, 1.1, 1.3, 1.2, 1.15, 1.05], 100)
    peaks = levels * np.random.default_rng(7).normal(1.0, 0.005, 600)
    executions = np.repeat(np.arange(6.0), 100)
    assert ladder_of(peaks, 0.01, 8.0, ANY, None, executions)[0] > 1.14 * peaks.max()
    mixed = np.random.default_rng(8).permutation(peaks)
    assert ladder_of(mixed, 0.01, 8.0, ANY, None, executions)[0] < 1.02 * peaks.max()
