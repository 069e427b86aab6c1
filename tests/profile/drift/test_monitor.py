from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.profile.drift.monitor import DriftMonitor


def stream(count: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    draw = np.random.default_rng(seed)
    jobs = pd.DataFrame({"user": draw.integers(0, 50, count).astype(str)})
    jobs["duration_s"] = 600 * np.exp(0.3 * draw.standard_t(4, count))
    said = pd.DataFrame({"value": 600.0, "low": 300.0, "high": 1200.0}, index=jobs.index)
    said["stratum"] = np.where(draw.random(count) < 0.05, "new", "seen")
    return jobs, said


def test_a_quiet_stream_raises_no_alarm() -> None:
    jobs, said = stream(12_000)
    monitor = DriftMonitor().fit(jobs[:2000], said[:2000])
    assert monitor.update(jobs[2000:], said[2000:]) == []
    assert monitor.table()[0]["state"] in ("ok", "warning")
    assert monitor.jobs_ == 10_000


@pytest.mark.parametrize(
    ("signal", "change"),
    [
        ("longer", {"duration_s": 3.0}),
        ("shorter", {"duration_s": 1 / 3}),
        ("novelty", {"stratum": "new"}),
    ],
)
def test_a_change_of_a_fifth_of_the_jobs_is_noticed_within_200_of_them(
    signal: str, change: dict[str, object]
) -> None:
    jobs, said = stream(4_000, seed=1)
    hit = (np.arange(4_000) >= 3_000) & jobs["user"].isin([str(n) for n in range(10)])
    for column, by in change.items():
        if isinstance(by, float):
            jobs.loc[hit, column] *= by
        else:
            said.loc[hit, column] = by
    monitor = DriftMonitor().fit(jobs[:2000], said[:2000])
    (alarm,) = monitor.update(jobs[2000:], said[2000:])
    assert alarm.at >= 1_000
    assert hit[: 2_000 + alarm.at].sum() <= 200
    assert alarm.signal in (signal, "error", "calibration")
    assert abs(alarm.since - 1_000) < 200


def test_a_profile_that_changes_is_named_and_others_are_not() -> None:
    jobs, said = stream(5_000, seed=2)
    profiles = np.arange(5_000) % 5
    hit = (profiles == 3) & (np.arange(5_000) >= 4_000)
    jobs.loc[hit, "duration_s"] *= 4
    monitor = DriftMonitor().fit(jobs[:3000], said[:3000], profiles=profiles[:3000])
    alarms = []
    for first in range(3000, 5000, 25):
        rows = slice(first, first + 25)
        alarms += monitor.update(jobs[rows], said[rows], profiles=profiles[rows])
    assert {one.scope for one in alarms} <= {"overall", "3"}
    assert any(one.scope == "3" and hit[: 3000 + one.at].sum() <= 60 for one in alarms)


def test_after_an_alarm_the_new_level_becomes_usual() -> None:
    jobs, said = stream(5_000, seed=3)
    jobs.loc[2500:, "duration_s"] *= 3
    monitor = DriftMonitor().fit(jobs[:2000], said[:2000])
    alarms = [a for n in range(2000, 5000, 25) for a in monitor.update(jobs[n : n + 25], said[n:n + 25])]  # fmt: skip # noqa: E501
    assert len(alarms) == 1
    assert monitor.table()[0]["state"] == "ok"


def test_jobs_without_an_outcome_or_an_answer_say_nothing_of_errors() -> None:
    jobs, said = stream(3_000, seed=4)
    jobs.loc[2000:2500, "duration_s"] = np.nan
    said.loc[2500:, ["value", "low", "high"]] = np.nan
    monitor = DriftMonitor().fit(jobs[:2000], said[:2000])
    assert monitor.update(jobs[2000:], said[2000:]) == []
    assert monitor.table()[0]["levels"]["longer"] < 0.3


def test_an_empty_stream_changes_nothing() -> None:
    jobs, said = stream(1_000)
    monitor = DriftMonitor().fit(jobs, said)
    assert monitor.update(jobs[:0], said[:0]) == []
    assert monitor.jobs_ == 0


def test_what_cannot_be_watched_is_refused() -> None:
    jobs, said = stream(1_000)
    with pytest.raises(ParameterError, match="Call fit first"):
        DriftMonitor().update(jobs, said)
    with pytest.raises(InputError, match="needs 300"):
        DriftMonitor().fit(jobs[:20], said[:20])
    with pytest.raises(ParameterError, match="rate per job"):
        DriftMonitor(false_alarms=2.0).fit(jobs, said)
    with pytest.raises(MissingColumnError, match="stratum"):
        DriftMonitor().fit(jobs, said.drop(columns="stratum"))
    with pytest.raises(MissingColumnError, match="memory_peak_gib"):
        DriftMonitor(target="memory_peak_gib").fit(jobs, said)
    with pytest.raises(InputError, match="999 predictions for 1,000 jobs"):
        DriftMonitor().fit(jobs, said[1:])
