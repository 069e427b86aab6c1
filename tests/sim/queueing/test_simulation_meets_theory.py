"""The event loop against exact formulas: 20 replications each, 10 % warm-up cut."""

from __future__ import annotations

import numpy as np
import pytest

from prophase.sim.place.first_fit import first_fit
from prophase.sim.queueing.mgc import mdc
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.priorities import JobClass, priorities
from prophase.sim.signatures import FREE_GPU, FREE_SHARE, FREE_WHOLE, GPUS
from prophase.sim.static_loop import PlaceSettings, run_static_loop
from prophase.stats import from_replications

REPLICATIONS, JOBS, CUT = 20, 6_000, 600
ONE_GPU = np.array([0, 0, 1, 1000, 0, 0, 1, 0])


def simulated_waits(submit, duration, servers, rank):
    nodes = np.zeros((servers, FREE_SHARE + 1), np.int64)
    nodes[:, [GPUS, FREE_WHOLE]] = 1
    nodes[:, [FREE_GPU, FREE_SHARE]] = 1000
    asks = np.broadcast_to(ONE_GPU, (submit.size, ONE_GPU.size))
    return (
        run_static_loop(submit, duration, asks, rank, nodes, PlaceSettings(first_fit)).start_s
        - submit
    )


def fifo_means(rng, used, servers, constant):
    means = []
    for _ in range(REPLICATIONS):
        submit = np.cumsum(rng.exponential(1 / (used * servers), JOBS))
        duration = np.ones(JOBS) if constant else rng.exponential(1.0, JOBS)
        means.append(simulated_waits(submit, duration, servers, np.arange(JOBS))[CUT:].mean())
    return means


@pytest.mark.parametrize("constant", [False, True], ids=["M/M/c", "M/D/c"])
def test_theory_lies_inside_the_interval_in_nine_of_ten_cases(constant):
    formula = mdc if constant else mmc
    rng = np.random.default_rng(21)
    cases = [(used, c) for used in (0.5, 0.7, 0.8) for c in (1, 2, 5, 10)]
    inside = [
        from_replications(fifo_means(rng, used, c, constant)).holds(
            formula(used * c, 1.0, c).wait_mean_s
        )
        for used, c in cases
    ]
    assert sum(inside) >= 0.9 * len(cases)


def test_priorities_on_one_server_lie_inside_in_nine_of_ten_cases():
    rng = np.random.default_rng(22)
    inside = []
    for used in (0.5, 0.7, 0.8):
        for shape in (0.5, 1.0, 4.0):
            classes = [
                JobClass("urgent", 0.4 * used, 1.0, 1 / shape),
                JobClass("batch", 0.3 * used, 2.0, 1 / shape),
            ]
            found = priorities(classes)
            means = np.array([priority_means(rng, classes, shape) for _ in range(REPLICATIONS)])
            inside += [
                from_replications(means[:, k]).holds(row.wait_mean_s)
                for k, row in enumerate(found.classes)
            ]
    assert sum(inside) >= 0.9 * len(inside)


def priority_means(rng, classes, shape):
    rates = np.array([one.arrivals_per_s for one in classes])
    kind = rng.choice(2, JOBS, p=rates / rates.sum())
    submit = np.cumsum(rng.exponential(1 / rates.sum(), JOBS))
    mean = np.array([one.service_mean_s for one in classes])[kind]
    duration = rng.standard_gamma(shape, JOBS) / shape * mean
    rank = np.empty(JOBS, np.int64)
    rank[np.lexsort((submit, kind))] = np.arange(JOBS)
    waits = simulated_waits(submit, duration, 1, rank)
    late = np.arange(JOBS) >= CUT
    return [waits[late & (kind == k)].mean() for k in range(2)]
