from __future__ import annotations

import pytest

from prophase.sizing.baselines.krr_and_vpa import KubernetesVpa, _bucket_of, _end_of

DAY_S = 24 * 3600.0


def test_the_target_is_the_end_of_a_bucket_and_15_percent_more() -> None:
    sizer = KubernetesVpa()
    for _ in range(10):
        sizer.observe("web", {"submit_s": 0.0}, 1.0, 1.0, False)
    asked = sizer.predict("web", {})
    assert 1.15 * 1.0 <= asked <= 1.15 * 1.05


def test_buckets_hold_their_amounts() -> None:
    for gib in (0.001, 0.05, 1.0, 37.0):
        bucket = _bucket_of(gib)
        assert gib <= _end_of(bucket) * (1 + 1e-9)
        assert bucket == 0 or _end_of(bucket - 1) < gib * (1 + 1e-9)


def test_old_peaks_fade_with_a_half_life_of_a_day() -> None:
    sizer = KubernetesVpa()
    for _ in range(4):
        sizer.observe("web", {"submit_s": 0.0}, 8.0, 1.0, False)
    for _ in range(4):
        sizer.observe("web", {"submit_s": 8 * DAY_S}, 1.0, 1.0, False)
    assert sizer.predict("web", {}) < 1.5


def test_a_kill_bumps_by_a_fifth_or_100_mib() -> None:
    sizer = KubernetesVpa()
    assert sizer.retry("web", {}, 2, 10.0) == pytest.approx(12.0)
    assert sizer.retry("web", {}, 2, 0.1) == pytest.approx(0.1 + 100 / 1024)


def test_no_recommendation_is_below_250_mib() -> None:
    sizer = KubernetesVpa()
    sizer.observe("web", {"submit_s": 0.0}, 0.01, 1.0, False)
    assert sizer.predict("web", {}) == pytest.approx(250 / 1024)
