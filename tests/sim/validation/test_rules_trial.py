"""Rules that are learnt from the first half of a log and tried on the second."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.validation.rules_trial import LEARNT, PLAIN, try_rules
from prophase.sim.validation.site_habits import Maintenance, SiteHabits, read_habits

#: 1996-09-23 is a Monday
MONDAY_S = 843_436_800.0
HOUR_S, DAY_S, WEEK_S = 3600.0, 86_400.0, 7 * 86_400.0
DAY_AND_NIGHT = SiteHabits(
    week=tuple((24 * day + hour, 4 * HOUR_S if hour == 8 else np.inf)
               for day in range(5) for hour in (8, 17))
)  # fmt: skip


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    """Jobs of ten weeks on a cluster with day and night rules."""
    random, count = np.random.default_rng(4), 1_200
    jobs = pd.DataFrame({"job_id": [f"j{place}" for place in range(count)]})
    jobs["submit_s"] = MONDAY_S + np.sort(random.uniform(0, 10 * WEEK_S, count))
    jobs["time_limit_s"] = random.choice([0.5, 2.0, 4.0, 8.0, 14.0], count) * HOUR_S
    jobs["duration_s"] = jobs["time_limit_s"] * random.uniform(0.3, 1.0, count)
    jobs["request_gpus"] = 1.0
    begin, end = jobs["submit_s"].min(), jobs["submit_s"].max()
    replay = simulate(
        Workload.from_jobs(jobs), Cluster.uniform(1, 4), queue="easy",
        **DAY_AND_NIGHT.settings(float(begin), float(end)),
    )  # fmt: skip
    return jobs.assign(start_s=replay.start_s, wait_s=replay.start_s - jobs["submit_s"])


def test_day_and_night_rules_are_found_and_beat_every_naive_guess(log):
    found = try_rules(log, Cluster.uniform(1, 4), {"queue": "easy"})
    assert {hour for hour, _ in found.rules.week} == {hour for hour, _ in DAY_AND_NIGHT.week}
    assert found.rules.week[0][1] == 4 * HOUR_S
    assert [row["kept"] for row in found.tried if row["rule"] == "hours"] == ["yes"]
    factor = {row["guess"]: row["factor"] for row in found.guesses}
    assert factor[LEARNT] < 1.2 < factor[PLAIN]
    assert found.words() == "Learnt rules beat every naive guess on the second half"


def test_a_log_without_rules_shows_none(log):
    free = simulate(Workload.from_jobs(log), Cluster.uniform(1, 4), queue="easy")
    log = log.assign(start_s=free.start_s, wait_s=free.start_s - log["submit_s"])
    found = try_rules(log, Cluster.uniform(1, 4), {"queue": "easy"})
    assert not found.rules.week
    assert "none is used" in found.words()


def test_where_a_naive_guess_is_closer_it_is_named(log):
    late = log.assign(start_s=log["submit_s"] + 20_000.0, wait_s=20_000.0)
    found = try_rules(late, Cluster.uniform(1, 4), {"queue": "easy"})
    assert found.use == "median wait of the first half"
    assert "Go by median wait of the first half instead of a replay" in found.words()
    assert found.to_dict()["use"] == found.use


def test_maintenance_that_comes_again_is_expected_and_other_outages_are_not():
    begins = MONDAY_S + DAY_S + WEEK_S * np.array([0, 2, 4, 6])
    rows = []
    for day in np.arange(0.0, 56.0, 0.25):
        at = MONDAY_S + day * DAY_S
        shut = [one for one in begins if one - 0.25 * DAY_S < at < one + 0.5 * DAY_S]
        rows.append((at, shut[0] + 0.5 * DAY_S if shut else at))
    jobs = pd.DataFrame(rows, columns=["submit_s", "start_s"])
    jobs["duration_s"] = jobs["time_limit_s"] = 0.25 * DAY_S
    found = read_habits(jobs, np.ones(len(jobs)), 1.0)
    assert found.maintenance is not None
    assert found.maintenance.every_s == 2 * WEEK_S
    calendar = found.settings(MONDAY_S, MONDAY_S + 9 * WEEK_S)["calendar"]
    assert (calendar["from_s"] > begins[-1] + WEEK_S).any()
    assert isinstance(found.maintenance, Maintenance)


def test_a_limit_per_user_is_one_that_several_users_reach():
    rows = []
    for user in range(4):
        for place in range(40):
            at = 100.0 * user
            rows.append((f"u{user}", at, at + (place // 3) * 60.0, 60.0))
    jobs = pd.DataFrame(rows, columns=["user", "submit_s", "start_s", "duration_s"])
    assert read_habits(jobs, np.ones(len(jobs)), 100.0).user_jobs == 3


def test_what_cannot_be_learnt_from_is_refused(log):
    with pytest.raises(InputError, match="four weeks"):
        try_rules(log[:200], Cluster.uniform(1, 4), {})
    with pytest.raises(InputError, match="nothing to learn"):
        try_rules(log.drop(columns=["start_s", "wait_s"]), Cluster.uniform(1, 4), {})
    with pytest.raises(ParameterError, match="no such time zone"):
        try_rules(log, Cluster.uniform(1, 4), {}, time_zone="Mars/Base")
