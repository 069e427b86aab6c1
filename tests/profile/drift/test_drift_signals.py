from __future__ import annotations

import numpy as np

from prophase.profile.drift.drift_signals import RawScores, Scale, alike_before, echo


def raw(miss: np.ndarray, stratum: float = 0.0) -> RawScores:
    some = np.zeros(len(miss))
    key = np.arange(len(miss), dtype=np.uint64)
    return RawScores(miss, some + stratum, some, some, some, some, key)


def test_a_reference_has_scores_around_zero_whatever_its_tails() -> None:
    wild = raw(np.random.default_rng(0).standard_t(1.2, 2_000))
    scores = Scale.learn("longer", wild, np.ones(2_000))(wild)
    assert abs(scores.mean()) < 0.01
    assert abs(scores.std() - 1) < 0.05
    assert np.abs(scores).max() == 2.5


def test_errors_are_ranked_among_jobs_that_were_as_well_known() -> None:
    draw = np.random.default_rng(0)
    both = raw(draw.normal(0, 0.1, 500)).joined(raw(draw.normal(0, 3.0, 500), stratum=2.0))
    scale = Scale.learn("error", both, np.ones(1_000))
    assert scale(raw(np.array([1.0])))[0] > 2
    assert scale(raw(np.array([1.0]), stratum=2.0))[0] < 0.5


def test_a_rare_share_is_taken_as_two_percent() -> None:
    quiet = raw(np.zeros(500))
    assert Scale.learn("novelty", quiet, np.ones(500)).share == 0.02


def test_jobs_without_a_value_have_score_zero() -> None:
    scale = Scale.learn("longer", raw(np.arange(10.0)), np.ones(10))
    assert scale(raw(np.array([np.nan])))[0] == 0.0


def test_independent_jobs_of_a_key_have_no_echo() -> None:
    keys = np.random.default_rng(1).integers(0, 20, 2_000).astype(np.uint64)
    assert echo(np.random.default_rng(0).normal(0, 1, 2_000), keys) < 0.1


def test_old_jobs_of_a_key_are_another_burst() -> None:
    keys = np.arange(500, dtype=np.uint64)
    keys[[0, 10, 400]] = 7777
    assert alike_before(keys)[[0, 10, 400]].tolist() == [0, 1, 0]
