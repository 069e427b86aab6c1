from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile.predict.history import History


@pytest.mark.parametrize(("days", "told"), [(2, False), (30, True)])
def test_hours_of_the_day_are_distinguished_after_a_week(days: int, told: bool) -> None:
    came = np.linspace(0.0, days * 86_400.0, 200)
    # one job of long ago does not make a history long
    came[0] = -90 * 86_400.0
    jobs = pd.DataFrame({"user": ["ann", "bob"] * 100, "submit_s": came, "duration_s": 60.0})
    hours = History(jobs).ask(jobs[1:]).numbers[:, -1]
    assert (np.ptp(hours) > 0) == told


def test_a_queue_of_few_owners_does_not_speak_for_a_stranger() -> None:
    owners = np.arange(60) % 6
    jobs = pd.DataFrame(
        {
            "user": [f"user{owner}" for owner in owners],
            "queue": np.where(owners < 2, "few", "many"),
            "submit_s": np.arange(60.0),
            "duration_s": 60.0,
        }
    )
    jobs = pd.concat([jobs, jobs[:1].assign(user="late", queue="many")], ignore_index=True)
    history = History(jobs)
    ended, values = np.append(np.arange(60.0), 99.0), np.where(jobs["queue"] == "few", 9.0, 1.0)
    history.add(history.ask(jobs), ended, values)
    stranger = pd.DataFrame({"user": "nobody", "queue": ["few", "many", "many"]})
    asked = history.ask(stranger, np.array([np.inf, np.inf, 90.0]))
    recall = history.recall(asked)
    queue = history.level_of("queue")
    assert queue is not None
    # the fifth owner of the other queue is not known before its first job has ended
    assert history.counting(asked, recall)[queue].count.tolist() == [0, 41, 0]
    middle = np.median(values)
    assert history.backed_off(asked, recall).tolist() == [middle, 1.0, np.median(values[:60])]
