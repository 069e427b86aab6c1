from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError
from prophase.profile.predict.evaluation import evaluate
from prophase.profile.predict.methods import predictor_named
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.submit_columns import outcomes
from prophase.profile.predict.yes_no_target import ShareCalibrator, yes_no_measures


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    """Runs that end out of memory the more often the larger their batch is."""
    draw = np.random.default_rng(0)
    batch = draw.choice([8.0, 64.0, 512.0], 900)
    chance = np.select([batch == 8, batch == 64], [0.02, 0.3], 0.9)
    status = np.where(draw.random(900) < chance, "oom", "completed").astype(object)
    status[::50] = None
    ids = [f"r{n}" for n in range(900)]
    return pd.DataFrame({"job_id": ids, "attr_batch_size": batch, "status": status})


@pytest.mark.parametrize("name", ["mixture", "forest", "shrinkage", "backoff-median"])
def test_a_yes_or_no_is_answered_with_its_probability(name: str, runs: pd.DataFrame) -> None:
    found = predictor_named(name).fit(runs[:600], "status=oom").predict(runs[600:])
    means = found.groupby(runs["attr_batch_size"])["value"].mean()
    np.testing.assert_allclose(means, [0.02, 0.3, 0.9], atol=0.15)
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"]).all()
    assert found[["low", "high"]].stack().between(0, 1).all()


def test_bounds_hold_the_true_chance() -> None:
    draw = np.random.default_rng(1)
    chance = draw.uniform(0, 1, 4_000)
    truth = (draw.random(4_000) < chance).astype(float)
    kind, late = np.full(4_000, "seen"), np.zeros(4_000, dtype=bool)
    calibrator = ShareCalibrator()
    calibrator.learn(PointAndRange.of_point(chance), truth, kind, late, np.arange(4_000.0))
    asked = np.linspace(0.02, 0.98, 50)
    low, high = calibrator.widen(
        PointAndRange.of_point(asked), kind[:50], late[:50], np.full(50, np.inf)
    )
    assert ((low <= asked) & (asked <= high)).all()
    assert (high - low).max() < 0.15
    nothing = ShareCalibrator().widen(PointAndRange.of_point(asked), kind[:50], late[:50], asked)
    assert nothing[0].max() == 0.0
    assert nothing[1].min() == 1.0


def test_measures_have_intervals_over_days_where_there_is_a_clock(runs: pd.DataFrame) -> None:
    timed = runs.assign(submit_s=3_600.0 * np.arange(900))
    found = evaluate(timed[:600], timed[600:], ["global-median"], target="status=oom")
    measures = found.methods["global-median"]
    low, high = measures["intervals"]["brier"]
    assert low < measures["brier"] < high


def test_a_yes_or_no_is_judged_by_rank_and_by_both_classes(runs: pd.DataFrame) -> None:
    found = evaluate(runs[:600], runs[600:], ["default", "global-median"], target="status=oom")
    ours, base = (found.methods[name] for name in ("default", "global-median"))
    assert ours["roc_auc"] > 0.85 > base["roc_auc"] == 0.5
    assert ours["balanced_accuracy_pct"] > 75 > base["balanced_accuracy_pct"]
    assert ours["brier"] < base["brier"]
    assert ours["intervals"] == {}
    assert found.test_jobs == runs["status"][600:].notna().sum()


def test_one_class_alone_has_no_rank() -> None:
    found = yes_no_measures(np.zeros(3), np.array([0.1, 0.2, 0.3]))
    assert np.isnan(found["roc_auc"])
    assert found["yes_pct"] == 0.0


def test_a_history_of_one_class_is_answered_with_it(runs: pd.DataFrame) -> None:
    calm = runs[runs["status"] == "completed"]
    found = predictor_named("mixture").fit(calm, "status=oom").predict(runs[:20])
    assert (found["value"] == 0.0).all()


def test_booleans_and_unknown_columns(runs: pd.DataFrame) -> None:
    jobs = pd.DataFrame({"after_killed": [True, False, None], "duration_s": 1.0})
    np.testing.assert_array_equal(outcomes(jobs, "after_killed"), [1.0, 0.0, np.nan])
    with pytest.raises(MissingColumnError, match="no column 'state=oom'"):
        outcomes(jobs, "state=oom")
    with pytest.raises(InputError, match="no test job has a known status=oom"):
        evaluate(runs, runs.assign(status=None), ["shrinkage"], target="status=oom")
