from __future__ import annotations

import numpy as np

from prophase.profile.predict.leading_point import SIMPLE, LeadingPoint, gains


def offered(rows: int, miss: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Simple and trusted number miss by one unit, the other number by ``miss``."""
    draw = np.random.default_rng(seed)
    values = draw.normal(6.0, 2.0, rows)
    usual = draw.normal(0.0, 1.0, rows)
    points = values[:, None] + np.column_stack([usual, usual, draw.normal(0.0, miss, rows)])
    return points, values


def test_a_better_number_takes_the_lead_and_gives_it_back() -> None:
    held = LeadingPoint()
    good, worse = offered(600, 0.3), offered(3_000, 3.0)
    points, values = (np.concatenate(both) for both in zip(good, worse, strict=True))
    seen = np.full(len(values), "seen")
    held.add(gains(points, values, 4.0), seen, np.arange(len(values), dtype=float))
    leaders = held.leaders(seen[:3], np.array([10.0, 600.0, np.inf]))
    assert leaders.tolist() == [SIMPLE, 2, SIMPLE]


def test_what_chance_can_explain_does_not_lead() -> None:
    leads = []
    for seed in range(20):
        held = LeadingPoint()
        points, values = offered(500, 1.0, seed)
        seen = np.full(500, "seen")
        held.add(gains(points, values, 4.0), seen, np.arange(500.0))
        leads.append(int(held.leaders(seen[:1], np.array([np.inf]))[0]))
    assert np.mean(np.array(leads) != SIMPLE) <= 0.1


def test_long_after_the_last_outcome_folds_that_differ_are_a_doubt() -> None:
    good, bad = offered(400, 0.3), offered(400, 3.0)
    seen = np.full(400, "seen")
    folds = [(gains(*part, 4.0), seen) for part in (good, bad)]
    held = LeadingPoint()
    held.settle(folds)
    assert held.leaders(seen[:1], np.zeros(1), stale=True).tolist() == [SIMPLE]
    held.settle(folds[:1])
    assert held.leaders(seen[:1], np.zeros(1), stale=True).tolist() == [2]


def test_long_after_the_last_outcome_fewer_useful_answers_are_no_lead() -> None:
    # far fewer large misses, but no more answers within a factor of two, as far as chance lets see
    draw, values = np.random.default_rng(1), np.zeros(600)
    close = draw.random(600) < 0.5
    other = np.where(draw.random(600) < 0.5, 0.1, 1.0)
    points = np.column_stack([np.where(close, 0.1, 5.0), other])
    held, seen = LeadingPoint(), np.full(600, "seen")
    held.settle([(gains(points, values, 4.0), seen)])
    assert held.leaders(seen[:1], np.zeros(1), stale=True).tolist() == [SIMPLE]


def test_until_another_number_has_proved_better_the_simple_one_leads() -> None:
    kinds = np.array(["new", "seen", "partly"])
    for stale in (False, True):
        assert (LeadingPoint().leaders(kinds, np.zeros(3), stale=stale) == SIMPLE).all()
