from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile.clusters.metric_summary import summarise
from prophase.profile.drift.live_profiles import LiveProfiles


def table(count: int) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    clock = 900.0 * np.arange(count)
    run = np.exp(draw.normal(6.0, 1.5, count)) * (1 + 2 * clock / clock.max())
    run[draw.random(count) < 0.02] = np.nan
    return pd.DataFrame(
        {"job_id": [f"j{n}" for n in range(count)], "submit_s": clock, "duration_s": run}
    )


def test_updates_equal_a_batch_recompute_within_one_percent() -> None:
    jobs = table(9_000)
    live = LiveProfiles(["duration_s"])
    for first in range(0, len(jobs), 100):
        live.update(jobs[first : first + 100], np.zeros(100, dtype=np.int64))
    found = live.summary(0, "duration_s")
    ids = jobs["job_id"].tolist()
    whole = summarise(jobs["duration_s"].to_numpy(), jobs["submit_s"].to_numpy(), ids)
    assert found is not None
    assert whole is not None
    assert (found.n, found.missing) == (whole.n, whole.missing)
    assert found.mean == pytest.approx(whole.mean, rel=1e-9)
    assert found.std == pytest.approx(whole.std, rel=1e-9)
    for name, value in whole.quantiles.items():
        assert found.quantiles[name] == pytest.approx(value, rel=0.01)
    assert sum(found.histogram["jobs"]) == pytest.approx(whole.n)
    assert found.histogram["jobs"][0] == pytest.approx(whole.histogram["jobs"][0], rel=0.01)
    assert found.anomalies == pytest.approx(whole.anomalies, rel=0.05)
    assert found.trend is not None
    assert found.trend.direction == "rising"


def test_few_jobs_are_summarised_exactly() -> None:
    jobs = table(500)
    live = LiveProfiles(["duration_s", "cpu_mean_cores"])
    live.update(jobs[:300], np.full(300, 4))
    live.update(jobs[300:], np.full(200, 4))
    ids = jobs["job_id"].tolist()
    whole = summarise(jobs["duration_s"].to_numpy(), jobs["submit_s"].to_numpy(), ids)
    assert live.summary(4, "duration_s") == whole
    assert live.summary(4, "cpu_mean_cores") is None
    assert live.summary(5, "duration_s") is None
