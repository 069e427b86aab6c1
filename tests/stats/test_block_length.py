from __future__ import annotations

import numpy as np

from prophase.stats.block_length import (
    correlation_time,
    days_drawn,
    days_together,
    memory,
    politis_white,
)


def remembering(memory: float, days: int = 400) -> np.ndarray:
    rng = np.random.default_rng(0)
    state = np.empty(days)
    state[0] = rng.normal()
    for day in range(1, days):
        state[day] = memory * state[day - 1] + rng.normal()
    return state


def test_the_more_days_resemble_each_other_the_longer_the_blocks():
    lengths = [days_together(np.exp(remembering(memory)), []) for memory in (0.0, 0.5, 0.9)]
    assert lengths == sorted(lengths)
    assert lengths[0] <= 3 < lengths[2]


def test_a_backlog_alone_makes_blocks_longer():
    load = remembering(0.0)
    assert days_together(load, remembering(0.95)) > days_together(load, np.zeros(400))


def test_the_correlation_time_of_an_autoregression_is_known():
    # (1 + 0.8) / (1 - 0.8)
    assert abs(correlation_time(remembering(0.8, 20_000)) - 9.0) < 1.5


def test_what_does_not_vary_or_is_too_short_has_no_dependence():
    assert politis_white(np.ones(50)) == 0.0
    assert politis_white(np.arange(3.0)) == 0.0
    assert correlation_time(np.ones(50)) == 1.0
    assert days_together([1.0], [2.0]) == 1


def test_chance_in_the_load_of_days_does_not_hide_how_long_a_spell_lasts():
    signal, noise = remembering(0.9, 2000), np.random.default_rng(1).normal(0, 2, 2000)
    true = (1 + 0.9) / (1 - 0.9)
    assert abs(memory(signal + noise, by_chance=4.0) / true - 1) < 0.3
    assert memory(signal + noise, by_chance=0.0) < true / 2


def test_at_least_six_blocks_are_drawn_from_however_long_a_backlog_lasts():
    fortnights = np.repeat([1.0, 3.0, 1.0], 14)
    assert days_drawn(fortnights, fortnights, 0.0) == 7
    assert days_together(fortnights, fortnights) > 7
    assert days_drawn([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], 0.0) == 1
