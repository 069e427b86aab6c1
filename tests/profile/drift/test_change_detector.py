from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import ParameterError
from prophase.profile.drift.change_detector import Cusum, long_run_variance


def heavy_tailed(count: int, seed: int, echo: float = 0.5) -> np.ndarray:
    """Scores with heavy tails in bursts of four that share their luck."""
    draw = np.random.default_rng(seed)
    shared = np.repeat(draw.standard_t(4, count // 4 + 1), 4)[:count]
    raw = np.sqrt(echo) * shared + np.sqrt(1 - echo) * draw.standard_t(4, count)
    return np.clip(raw / np.sqrt(2.0), -2.5, 2.5)


def test_less_than_one_false_alarm_in_10000_scores() -> None:
    found, read = 0, 0
    for seed in range(12):
        scores = heavy_tailed(22_000, seed)
        crossing = Cusum(rate=2e-5).fit(scores[:2000] - scores[:2000].mean()).update(scores[2000:])
        found += crossing is not None
        read += 20_000 if crossing is None else crossing.at
    assert found / read < 1e-4


def test_a_change_of_a_fifth_of_the_scores_is_noticed_within_200_of_them() -> None:
    for seed in range(12):
        draw = np.random.default_rng(seed)
        scores = heavy_tailed(4_000, seed)
        changed = (draw.random(4_000) < 0.2) & (np.arange(4_000) >= 3_000)
        scores[changed] = 2.5
        crossing = Cusum(rate=2e-5).fit(scores[:2000]).update(scores[2000:])
        assert crossing is not None
        assert crossing.at >= 1_000
        assert changed[: 2_000 + crossing.at].sum() <= 200
        assert abs(crossing.since - 1_000) < 200


def test_scores_in_parts_are_as_scores_at_once() -> None:
    scores = heavy_tailed(3_000, 1)
    scores[2_500:] += 1.0
    whole = Cusum(rate=1e-5).fit(scores[:1500]).update(scores[1500:])
    detector = Cusum(rate=1e-5).fit(scores[:1500])
    for first in range(1500, 3000, 50):
        part = detector.update(scores[first : first + 50])
        if part is not None:
            break
    assert whole is not None
    assert part is not None
    assert (whole.at, whole.since) == (first - 1500 + part.at, first - 1500 + part.since)


def test_no_scores_are_no_alarm() -> None:
    detector = Cusum(rate=1e-5).fit(heavy_tailed(500, 0))
    assert detector.update(np.empty(0)) is None
    assert detector.level == 0.0


def test_a_short_reference_lets_small_changes_pass() -> None:
    detector = Cusum(rate=1e-5).fit(heavy_tailed(2_000, 0))
    before = detector.used_.sum()
    detector.restart(50.0)
    assert detector.used_.sum() < before


def test_bursts_make_sums_vary_more() -> None:
    luck = np.random.default_rng(0).normal(0.0, 1.0, 500)
    assert long_run_variance(np.repeat(luck, 4)) > 2.5


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="rate is 0"):
        Cusum(rate=0.0).fit(np.zeros(10))
