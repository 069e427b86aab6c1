from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.profile.drift.repair import choose_repair, find_culprit


def test_the_values_whose_jobs_changed_are_named() -> None:
    draw = np.random.default_rng(0)
    jobs = pd.DataFrame(
        {
            "user": draw.choice(list("abcdefghij"), 400),
            "task": draw.choice(["ps", "worker"], 400),
            "request_gpus": draw.choice([1.0, 8.0], 400),
        }
    )
    scores = draw.normal(0.0, 1.0, 400) + 2.5 * jobs["user"].isin(["c", "h"])
    found = find_culprit(jobs, scores)
    assert found.sentence() == "user c, h"
    assert found.among(jobs).sum() == jobs["user"].isin(["c", "h"]).sum()


def test_a_change_of_random_jobs_has_no_culprit() -> None:
    draw = np.random.default_rng(1)
    jobs = pd.DataFrame({"user": draw.choice(list("abcdefghij"), 400)})
    scores = draw.normal(0.0, 1.0, 400) + 2.5 * (draw.random(400) < 0.2)
    found = find_culprit(jobs, scores)
    assert found.column is None
    assert found.among(jobs).all()


def test_no_evidence_accuses_nobody() -> None:
    jobs = pd.DataFrame({"user": list("ab") * 10})
    assert find_culprit(jobs, np.full(20, np.nan)).column is None


def test_a_factor_that_chance_could_give_is_not_applied() -> None:
    miss = np.random.default_rng(0).normal(0.4, 2.0, 20)
    assert choose_repair(miss, 1.4, 100, weight=8.0).action == "refit"


def test_without_old_outcomes_there_is_nothing_to_repair() -> None:
    assert choose_repair(np.full(30, 2.0), 0.1, 0).action == "refit"
