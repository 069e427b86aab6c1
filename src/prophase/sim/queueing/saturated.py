"""The exact throughput of gangs whose queue is never empty, by a Markov chain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix
from scipy.sparse.linalg import spsolve

from prophase.sim.queueing.priorities import JobClass

#: jobs in service by class, then the class of the job that does not fit
_State = tuple[int, ...]
_MOST_STATES = 20_000


def saturated_throughput(classes: Sequence[JobClass], servers: int) -> float | None:
    """Return jobs per second, or None if the chain has too many states.

    A state is what runs, by class, and which class the first waiting job has: it waits
    because it does not fit. When a job ends, waiting jobs start until one does not fit;
    classes of further jobs are drawn independently.

    Examples
    --------
    >>> saturated_throughput([JobClass("a", 1.0, 2.0)], 3)
    1.5
    """
    rates = np.array([one.arrivals_per_s for one in classes], float)
    mix = (rates / rates.sum()).tolist()
    needs = [one.need for one in classes]
    speed = [1 / one.service_mean_s for one in classes]
    places: dict[_State, int] = {}
    todo: list[_State] = []

    def place_of(state: _State) -> int:
        if state not in places:
            places[state] = len(places)
            todo.append(state)
        return places[state]

    for state in _admitted((0,) * len(classes), None, servers, needs, mix):
        place_of(state)
    origin: list[int] = []
    target: list[int] = []
    flow: list[float] = []
    while todo:
        if len(places) > _MOST_STATES:
            return None
        state = todo.pop()
        running, head = state[:-1], state[-1]
        here = places[state]
        for kind, count in enumerate(running):
            if not count:
                continue
            left = tuple(n - (k == kind) for k, n in enumerate(running))
            for after, share in _admitted(left, head, servers, needs, mix).items():
                origin.append(here)
                target.append(place_of(after))
                flow.append(count * speed[kind] * share)
    stationary = _stationary(len(places), origin, target, flow)
    return float(
        sum(
            stationary[place] * sum(n * s for n, s in zip(state, speed, strict=False))
            for state, place in places.items()
        )
    )


def _admitted(
    running: _State, head: int | None, servers: int, needs: list[int], mix: list[float]
) -> dict[_State, float]:
    """Start waiting jobs until one does not fit; return the possible states with their shares."""
    found: dict[_State, float] = {}
    # (what runs, share) by class of the next job; states merge, as the order of starts is lost
    open_: dict[_State, float] = {}
    used = sum(n * need for n, need in zip(running, needs, strict=True))
    if head is not None:
        if used + needs[head] > servers:
            return {(*running, head): 1.0}
        running = tuple(n + (k == head) for k, n in enumerate(running))
    open_[running] = 1.0
    while open_:
        grown: dict[_State, float] = {}
        for now, share in open_.items():
            free = servers - sum(n * need for n, need in zip(now, needs, strict=True))
            for kind, chance in enumerate(mix):
                if needs[kind] > free:
                    blocked = (*now, kind)
                    found[blocked] = found.get(blocked, 0.0) + share * chance
                else:
                    more = tuple(n + (k == kind) for k, n in enumerate(now))
                    grown[more] = grown.get(more, 0.0) + share * chance
        open_ = grown
    return found


def _stationary(size: int, origin: list[int], target: list[int], flow: list[float]) -> np.ndarray:
    """Solve the balance equations; one of them gives way to: shares add up to 1."""
    if size == 1:
        return np.ones(1)
    rows, columns = np.array(origin), np.array(target)
    values = np.array(flow)
    into = coo_matrix((values, (columns, rows)), shape=(size, size)).tocsr()
    out = coo_matrix((values, (rows, rows)), shape=(size, size)).tocsr()
    balance = (into - out).tolil()
    balance[size - 1, :] = 1.0
    right = np.zeros(size)
    right[-1] = 1.0
    solved: np.ndarray = spsolve(csc_matrix(balance), right)
    return solved
