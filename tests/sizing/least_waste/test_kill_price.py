from __future__ import annotations

import pytest

from prophase.sizing.least_waste.kill_price import KillPrice


def at_work(risk: float | None = 0.01) -> KillPrice:
    """A price that knows what a usual run costs."""
    price = KillPrice(risk, 0.003)
    price.succeeded("usual", {"submit_s": -1.0}, 4.0)
    return price


def told(number: int) -> dict[str, object]:
    return {"submit_s": float(number)}


def test_a_wave_of_kills_raises_the_price_once() -> None:
    one, many = at_work(), at_work()
    for price, runs in ((one, 1), (many, 50)):
        for number in range(runs):
            price.decided("t", told(number), 0.1)
        for number in range(runs):
            price.killed("t", told(number))
        for number in range(runs):
            price.succeeded("t", told(number), 4.0)
    assert many.per_kill("t", 1.0) == pytest.approx(one.per_kill("t", 1.0))


def test_kills_after_a_wave_was_answered_count_again() -> None:
    price = at_work()
    before = price.per_kill("t", 1.0)
    for number in range(3):
        price.decided("t", told(number), 0.0)
        price.killed("t", told(number))
        price.succeeded("t", told(number), 4.0)
    assert price.per_kill("t", 1.0) > 1.8 * before


def test_a_kill_makes_its_own_task_dearer_than_others() -> None:
    price = at_work()
    price.decided("t", told(0), 0.0)
    price.killed("t", told(0))
    price.succeeded("t", told(0), 4.0)
    assert price.per_kill("t", 1.0) > price.per_kill("other", 1.0) > 0


def test_what_is_under_way_makes_kills_dearer_until_it_has_ended() -> None:
    price = at_work()
    before = price.per_kill("t", 1.0)
    for number in range(100):
        price.decided("t", told(number), 0.05)
    assert price.per_kill("t", 1.0) > 2 * before
    for number in range(100):
        price.succeeded("t", told(number), 4.0)
    assert price.per_kill("t", 1.0) <= before


def test_without_a_risk_the_price_does_not_fall_below_its_start() -> None:
    price = at_work(None)
    before = price.per_kill("t", 1.0)
    for number in range(500):
        price.decided("t", told(number), 0.01)
        price.succeeded("t", told(number), 4.0)
    assert price.per_kill("t", 1.0) == pytest.approx(before)
