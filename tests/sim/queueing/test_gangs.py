from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from prophase.errors import ParameterError
from prophase.sim.queueing.erlang import erlang_b
from prophase.sim.queueing.exact_waits import exact_waits
from prophase.sim.queueing.gangs import balanced_split, server_filling, stability_limit
from prophase.sim.queueing.mgc import mg1
from prophase.sim.queueing.priorities import JobClass

MIX = [
    JobClass("one", 0.5, 1.0, need=1),
    JobClass("four", 0.3, 2.0, need=4),
    JobClass("eight", 0.2, 1.0, need=8),
]


def test_jobs_of_one_server_fill_the_pool():
    limit = stability_limit([JobClass("a", 1.0, 2.0)], 7)
    assert limit.utilisation_limit == pytest.approx(1.0)
    assert limit.arrivals_limit_per_s == pytest.approx(3.5)
    assert limit.stable


def test_jobs_that_take_the_whole_pool_leave_nothing_idle():
    assert stability_limit([JobClass("a", 1.0, 1.0, need=8)], 8).utilisation_limit == 1.0


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
def test_two_servers_with_singles_and_pairs_have_the_limit_worked_out_by_hand(share):
    """States: a pair runs (P); two singles run (SS); one single runs before a pair (SP).

    With p the share of pairs and mean service 1: P ends at rate 1 and is followed by P with
    p, by SP with (1 - p) p, by SS with (1 - p)^2. SS ends at rate 2, then a pair is next with
    p (SP), else SS. SP ends at rate 1 and is followed by P.
    """
    p = share
    # balance: SP = P (1 - p), SS 2 p = P (1 - p)^2
    weights = {"P": Fraction(1), "SP": 1 - p, "SS": (1 - p) ** 2 / (2 * p)}
    # the first job behind SS is drawn only when one ends, so SS stands for both kinds of head
    total = sum(weights.values())
    ends = (weights["P"] + weights["SP"] + 2 * weights["SS"]) / total
    used = ends * (1 + p) / 2
    mix = [JobClass("single", float(1 - p), 1.0), JobClass("pair", float(p), 1.0, need=2)]
    assert stability_limit(mix, 2).utilisation_limit == pytest.approx(float(used), abs=1e-9)


@pytest.mark.parametrize("servers", [8, 16, 64])
def test_the_simulated_limit_agrees_with_the_exact_one(servers):
    exact = stability_limit(MIX, servers)
    simulated = stability_limit(MIX, servers, method="simulation", random_state=1)
    assert exact.exact
    assert not simulated.exact
    assert simulated.low <= exact.utilisation_limit <= simulated.high
    assert simulated.high - simulated.low < 0.01


def test_the_queue_grows_above_the_limit_and_not_below():
    servers = 8
    limit = stability_limit(MIX, servers)
    rng = np.random.default_rng(3)
    jobs = 200_000
    kind = rng.choice(3, jobs, p=[0.5, 0.3, 0.2])
    duration = rng.exponential(1.0, jobs) * np.array([1.0, 2.0, 1.0])[kind]
    need = np.array([1, 4, 8])[kind]
    gaps = rng.exponential(1.0, jobs)

    def last_wait(load: float) -> float:
        submit = np.cumsum(gaps) / (load * limit.arrivals_limit_per_s)
        return float(exact_waits(submit, duration, servers, need=need)[-20_000:].mean())

    assert last_wait(0.9) < 100
    assert last_wait(1.1) > 2_000


def test_server_filling_of_singles_on_one_server_is_pollaczek_khinchine():
    found = server_filling([JobClass("a", 0.8, 1.0, 3.0)], 1)
    assert found.wait_mean_s == pytest.approx(mg1(0.8, 1.0, 3.0).wait_mean_s)
    odd = server_filling([JobClass("a", 0.5, 1.0, need=3)], 8)
    assert "not so here" in odd.assumptions[-1]


def test_a_balanced_split_reserves_by_load_and_overflows_by_erlang_b():
    found = balanced_split(MIX, 100)
    assert sum(part.slots * part.need for part in found.parts) + found.spare_servers == 100
    for part in found.parts:
        assert part.overflow_share == erlang_b(part.offered_slots, part.slots)
    assert balanced_split(MIX, 200).overflow_share < found.overflow_share


def test_what_cannot_be_is_refused():
    with pytest.raises(ParameterError, match="class eight needs 8 servers at once"):
        stability_limit(MIX, 4)
    with pytest.raises(ParameterError, match="no policy keeps up"):
        server_filling([JobClass("a", 3.0, 1.0)], 2)
    with pytest.raises(ParameterError, match="simulation"):
        stability_limit([JobClass("a", 1.0, 1.0, 4.0)], 2, method="exact")
    with pytest.raises(ParameterError, match="no classes"):
        balanced_split([], 4)
