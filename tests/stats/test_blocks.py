from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from prophase.errors import ParameterError
from prophase.stats.blocks import (
    Blocks,
    calendar_blocks,
    degrees_of_freedom,
    t_factor,
    why_too_short,
)

DAY_S = 86_400.0


def test_a_block_is_a_calendar_day_of_the_datas_clock():
    blocks = calendar_blocks([DAY_S - 1, DAY_S, 2 * DAY_S - 1, 5 * DAY_S])
    assert blocks.of_row.tolist() == [0, 1, 1, 2]
    assert blocks.told() == "3 days"


@pytest.mark.parametrize(("days", "told"), [(59, "59 days"), (70, "10 weeks"), (365, "53 weeks")])
def test_blocks_are_weeks_once_there_are_ten_of_them(days, told):
    assert calendar_blocks(DAY_S * np.arange(days)).told() == told


def test_scattered_days_of_many_weeks_without_ten_full_ones_stay_days():
    assert calendar_blocks(7 * DAY_S * np.arange(30)).unit == "day"


def test_missing_times_are_refused():
    with pytest.raises(ParameterError, match="times are missing"):
        calendar_blocks([0.0, np.nan])


def test_sums_need_one_value_per_row():
    with pytest.raises(ParameterError, match="one value per row"):
        Blocks.of([0, 1], unit="day").sums([1.0])


@pytest.mark.parametrize("count", [2, 3, 7, 30, 365])
def test_equal_blocks_have_one_degree_of_freedom_less_than_there_are(count):
    assert degrees_of_freedom(np.full(count, 8.0)) == pytest.approx(count - 1)


def test_degrees_of_freedom_are_those_of_bell_and_mccaffrey():
    rng = np.random.default_rng(0)
    for _ in range(20):
        part = rng.dirichlet(np.ones(6))
        # their quadratic form, written out: residuals of a weighted mean of independent jobs
        residual = np.eye(6) - part[None, :]
        form = residual.T @ np.diag(part**2 / (1 - part)) @ residual
        spread = np.diag(1 / np.sqrt(part))
        inner = spread @ form @ spread
        assert np.trace(inner) == pytest.approx(1.0)
        assert degrees_of_freedom(part) == pytest.approx(1 / np.trace(inner @ inner))


def test_an_empty_block_changes_nothing():
    assert degrees_of_freedom(np.array([2.0, 1.0, 0.0, 1.0])) == pytest.approx(
        degrees_of_freedom(np.array([2.0, 1.0, 1.0]))
    )


def test_the_factor_is_students_quantile():
    assert t_factor(2, 0.95) == pytest.approx(stats.t.ppf(0.975, 2))
    assert t_factor(7.5, 0.9) == pytest.approx(stats.t.ppf(0.95, 7.5))
    with pytest.raises(ParameterError, match=r"level is 95"):
        t_factor(3, 95)


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ([1.0], "too short to say: 1 day, at least 3 needed"),
        ([1.0, 1.0, 0.0], "too short to say: 2 days, at least 3 needed"),
        ([95.0, 3.0, 2.0], "too short to say: 95% of it lies in one day"),
        ([1.0, 1.0, 1.0], ""),
    ],
)
def test_too_few_or_too_unequal_blocks_are_too_short_to_say(weights, why):
    assert why_too_short(np.array(weights), "day") == why
