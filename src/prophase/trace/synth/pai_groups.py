"""Recurring groups of jobs: how often each runs, whose they are, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from prophase.trace.synth import pai_world as world
from prophase.trace.synth.generator import Floats, Ints


@dataclass(frozen=True)
class Groups:
    """One entry per group; arrays are aligned."""

    runs: Ints
    workload: Ints
    user: Ints
    users: int
    shape: Ints
    #: 0..1, which of the profiles of its workload and role the group takes
    leaning: Floats
    log_level: Floats
    noise_sd: Floats
    failing: Floats


def make_groups(rng: np.random.Generator, jobs: int) -> Groups:
    """Split the jobs into groups; the heavy ones run hundreds of times, a third hardly ever."""
    runs = _runs_per_group(rng, jobs)
    count = len(runs)
    workload = _workload_of_groups(rng, runs)
    users = int(np.clip(round(1.3 * np.sqrt(jobs)), 8, 1300))
    user, leaning = _owners(rng, workload, users)
    for code in np.unique(workload):
        mine = np.flatnonzero(workload == code)
        leaning[mine] = dealt(rng, runs[mine], leaning[mine])
    shape = np.empty(count, dtype=np.int64)
    for code, name in enumerate(world.WORKLOADS):
        mine = np.flatnonzero(workload == code)
        if len(mine):
            shape[mine] = deal(rng, runs[mine], world.SHAPE_SHARES[name])
    steady = dealt(rng, runs) < world.STEADY_SHARE
    return Groups(
        runs=runs,
        workload=workload,
        user=user,
        users=users,
        shape=shape,
        leaning=leaning,
        log_level=world.GROUP_DURATION_SD * ndtri(dealt(rng, runs)),
        noise_sd=np.where(steady, world.STEADY_SD, world.RESTLESS_SD),
        failing=rng.beta(0.6, 0.6 / world.FAILED_SHARE - 0.6, count),
    )


def dealt(rng: np.random.Generator, weights: Ints, key: Floats | None = None) -> Floats:
    """Return a value in (0, 1) per entry, uniform over the *rows* the entries stand for.

    Entries are laid side by side, each as wide as its weight, in random order or in the
    order of ``key``; an entry gets the middle of its place. A few heavy groups then
    cannot bend the distribution over rows, as independent draws would let them.
    """
    order = rng.permutation(len(weights)) if key is None else np.argsort(key, kind="stable")
    ends = np.cumsum(weights[order], dtype=float)
    values = np.empty(len(weights))
    values[order] = (ends - weights[order] / 2) / ends[-1]
    return values


def deal(rng: np.random.Generator, weights: Ints, shares: Sequence[float]) -> Ints:
    """Deal places with the given shares of the rows that the entries stand for."""
    edges = np.cumsum(shares)
    return np.searchsorted(edges / edges[-1], dealt(rng, weights), side="right").astype(np.int64)


def pick(rng: np.random.Generator, shares: Sequence[float], count: int) -> Ints:
    """Draw places with the given shares."""
    edges = np.cumsum(shares)
    return np.searchsorted(edges / edges[-1], rng.random(count), side="right").astype(np.int64)


def _runs_per_group(rng: np.random.Generator, jobs: int) -> Ints:
    """Sizes of groups that add up to ``jobs``; 65 % of jobs sit in groups of five or more."""
    rare_jobs = round(jobs * (1 - world.RECURRING_SHARE))
    rare = _until(
        rare_jobs, lambda n: rng.choice(np.arange(1, 5), n, p=(0.55, 0.22, 0.13, 0.10)), 1.7
    )
    largest = max(jobs // 200, 5)
    often = _until(
        jobs - rare_jobs,
        lambda n: np.minimum(5 + np.floor(6 * rng.pareto(1.25, n)), largest).astype(np.int64),
        12.0,
    )
    return rng.permutation(np.concatenate([rare, often]))


def _until(total: int, draw: Callable[[int], Ints], mean: float) -> Ints:
    """Draw sizes until they reach the total; the last one is cut to fit."""
    sizes = np.empty(0, dtype=np.int64)
    while sizes.sum() < total:
        sizes = np.concatenate([sizes, draw(int(total / mean) + 10)])
    reached = np.cumsum(sizes)
    last = int(np.searchsorted(reached, total))
    sizes = sizes[: last + 1]
    sizes[last] -= reached[last] - total
    return sizes[sizes > 0]


def _workload_of_groups(rng: np.random.Generator, runs: Ints) -> Ints:
    """Deal groups out to workloads so that rows come in Table I's proportions.

    The rarest workloads are filled first and with small groups: one large group would
    be more than their whole share.
    """
    tasks = [
        float(np.dot(world.SHAPE_SHARES[name], [len(shape) for shape in world.JOB_SHAPES]))
        for name in world.WORKLOADS
    ]
    shares = np.array(list(world.WORKLOAD_ROWS.values())) / tasks
    shares = shares / shares.sum()
    jobs = int(runs.sum())
    rare_jobs = float(shares[shares * jobs < 400].sum()) * jobs
    shuffled = rng.permutation(len(runs))
    small = shuffled[runs[shuffled] < 5]
    first = small[: int(np.searchsorted(np.cumsum(runs[small]), rare_jobs)) + 1]
    taken = np.zeros(len(runs), dtype=bool)
    taken[first] = True
    order = np.concatenate([first, shuffled[~taken[shuffled]]])
    rarest_first = np.argsort(shares, kind="stable")
    edges = np.cumsum(shares[rarest_first])
    middle = (np.cumsum(runs[order]) - runs[order] / 2) / jobs
    slot = np.minimum(np.searchsorted(edges, middle, side="right"), len(shares) - 1)
    workload = np.empty(len(runs), dtype=np.int64)
    workload[order] = rarest_first[slot]
    return workload


def _owners(rng: np.random.Generator, workload: Ints, users: int) -> tuple[Ints, Floats]:
    """Users by Zipf's law, each at home in one workload and leaning to one of its profiles."""
    weight = 1.0 / np.arange(1, users + 1) ** 1.05
    home = pick(rng, list(world.WORKLOAD_ROWS.values()), users)
    home[: len(world.WORKLOADS)] = np.arange(len(world.WORKLOADS))[:users]
    home = rng.permutation(home)
    habit = rng.random((users, len(world.WORKLOADS)))
    user = pick(rng, weight.tolist(), len(workload))
    at_home = rng.random(len(workload)) < 0.8
    for code in np.unique(workload):
        locals_ = np.flatnonzero(home == code)
        mine = np.flatnonzero(at_home & (workload == code))
        user[mine] = locals_[pick(rng, weight[locals_].tolist(), len(mine))]
    own_way = rng.random(len(workload)) < 0.25
    leaning = np.where(own_way, rng.random(len(workload)), habit[user, workload])
    return user, leaning
