from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile.predict import training_features as module
from prophase.profile.predict.history import History
from prophase.profile.predict.memory import RECENT
from prophase.profile.predict.training_features import features, lessons


def test_a_few_jobs_have_the_features_they_have_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    jobs = pd.DataFrame(
        {
            "user": draw.choice(list("abcd"), 200),
            "task": draw.choice(["ps", "worker"], 200),
            "request_gpus": draw.choice([1.0, 2.0], 200),
            "submit_s": 100.0 * np.arange(200),
        }
    )
    history = History(jobs)
    ends = jobs["submit_s"].to_numpy() + 50
    history.add(history.ask(jobs), ends, draw.normal(size=200))
    asked = jobs.sample(9, random_state=1)
    asked.loc[asked.index[0], "user"] = "nobody"
    question = history.ask(asked)
    together, apart = history.recall(question), history.recall(question)
    few = features(question, together)
    monkeypatch.setattr(module, "_FEW", 0)
    np.testing.assert_array_equal(few, features(question, apart))
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one._middles[RECENT], other._middles[RECENT])


def test_parts_of_a_history_share_no_job_and_leave_none_out() -> None:
    jobs = pd.DataFrame({"user": list("ab") * 100, "submit_s": 100.0 * np.arange(200)})
    question = History(jobs).ask(jobs)
    parts = [asked.places for asked, _ in lessons(question, np.zeros(200), 0, 200, 3)]
    together = np.concatenate(parts)
    assert len(set(together.tolist())) == len(together) == 180
    assert all((np.diff(part) > 0).all() for part in parts)
