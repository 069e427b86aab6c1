from __future__ import annotations

import numpy as np

from prophase.trace.synth.pai_load import DAY_S, clock_of_load, times_at


def test_the_clock_runs_from_nothing_to_everything() -> None:
    times, share = clock_of_load(np.random.default_rng(0), 10.5, burst_sd=0.5)
    assert (times[0], times[-1]) == (0.0, 10.5 * DAY_S)
    assert (share[0], share[-1]) == (0.0, 1.0)
    assert (np.diff(share) > 0).all()


def test_without_bursts_every_week_is_the_same() -> None:
    clock = clock_of_load(np.random.default_rng(0), 14, burst_sd=0.0)
    times = times_at(np.linspace(0, 1, 20_001), clock)
    assert abs((times < 7 * DAY_S).mean() - 0.5) < 0.001


def test_bursts_remember_the_last_hours() -> None:
    times, share = clock_of_load(np.random.default_rng(1), 200, burst_sd=0.5)
    calm = clock_of_load(np.random.default_rng(1), 200, burst_sd=0.0)[1]
    noise = np.log(np.diff(share) / np.diff(calm))
    assert abs(noise.std() - 0.5) < 0.05
    near, far = (np.corrcoef(noise[:-lag], noise[lag:])[0, 1] for lag in (1, 96))
    assert near > 0.45
    assert abs(far) < 0.1
    assert len(times) == 200 * 96 + 1
