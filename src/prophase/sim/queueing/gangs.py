"""Gangs: jobs that take several servers at once, and their exact throughput at saturation.

First come, first served leaves servers idle in front of a large job, so a pool of gangs is
full before its utilisation is 100 %. How far before is the throughput of the *saturated*
system: one whose queue is never empty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix
from scipy.sparse.linalg import spsolve

from prophase.errors import ParameterError
from prophase.sim.queueing.erlang import erlang_b
from prophase.sim.queueing.parameter_checks import (
    Floats,
    Ints,
    require_positive,
    require_whole_servers,
)
from prophase.sim.queueing.priorities import JobClass
from prophase.stats import Estimate, from_replications

_SIMULATED_JOBS = 500_000
_BATCHES = 30


@dataclass(frozen=True)
class StabilityLimit:
    """The most load that first come, first served can carry.

    Attributes
    ----------
    utilisation_limit : float
        Share of the servers that are busy at most; 1 for jobs of one server.
    arrivals_limit_per_s : float
        Arrival rate, in the given mix, beyond which the queue grows without end.
    low, high : float
        95 % interval of ``utilisation_limit``; equal to it if the limit is exact.
    """

    servers: int
    utilisation_limit: float
    low: float
    high: float
    arrivals_limit_per_s: float
    offered_utilisation: float
    stable: bool
    exact: bool
    method: str
    assumptions: tuple[str, ...]
    valid: str

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON knows them."""
        return {**asdict(self), "assumptions": list(self.assumptions)}


@dataclass(frozen=True)
class ServerFilling:
    """What a policy would reach that keeps every server busy while enough work is there."""

    servers: int
    utilisation: float
    wait_mean_s: float
    sojourn_mean_s: float
    assumptions: tuple[str, ...]
    valid: str


@dataclass(frozen=True)
class SplitPart:
    """The servers reserved for one class, in slots of the size of its jobs."""

    name: str
    need: int
    slots: int
    offered_slots: float
    overflow_share: float


@dataclass(frozen=True)
class BalancedSplit:
    """Servers split between classes in proportion to their load; overflow by Erlang B."""

    servers: int
    parts: tuple[SplitPart, ...]
    spare_servers: int
    overflow_share: float
    assumptions: tuple[str, ...]
    valid: str


def stability_limit(
    classes: Sequence[JobClass],
    servers: float,
    *,
    method: str = "auto",
    random_state: int = 0,
) -> StabilityLimit:
    """Return the load at which first come, first served stops keeping up with gangs.

    Parameters
    ----------
    classes : sequence of JobClass
        Mix of jobs; ``need`` is the number of servers of a gang.
    method : {"auto", "exact", "simulation"}
        Exact solves the Markov chain of the saturated system (exponential service, few
        states). Simulation draws gamma-distributed service times with the SCV of each class.

    Examples
    --------
    >>> mix = [JobClass("single", 0.5, 1.0, need=1), JobClass("pair", 0.5, 1.0, need=2)]
    >>> round(stability_limit(mix, 2).utilisation_limit, 6)
    0.857143
    """
    servers = _checked(classes, servers)
    rate = sum(one.arrivals_per_s for one in classes)
    work = sum(one.offered_load for one in classes) / rate
    if method not in ("auto", "exact", "simulation"):
        raise ParameterError(f"method {method!r} is unknown. Known: auto, exact, simulation.")
    exponential = all(one.service_scv == 1.0 for one in classes)
    throughput = None
    if method != "simulation" and exponential:
        throughput = saturated_throughput(classes, servers)
    if throughput is None and method == "exact":
        raise ParameterError(
            "the exact limit needs exponential service (SCV 1) and a small pool; "
            'use method="simulation".'
        )
    exact = throughput is not None
    if throughput is None:
        found = _simulated(classes, servers, random_state)
        limit, spread = min(1.0, found.value), found.half_width
    else:
        limit, spread = min(1.0, throughput * work / servers), 0.0
    offered = rate * work / servers
    return StabilityLimit(
        servers=servers,
        utilisation_limit=limit,
        low=limit - spread,
        high=min(1.0, limit + spread),
        arrivals_limit_per_s=limit * servers / work,
        offered_utilisation=offered,
        stable=offered < limit,
        exact=exact,
        method="Markov chain of the saturated system" if exact else "saturated system, simulated",
        assumptions=(
            "jobs start strictly in order of arrival, all servers of a gang together",
            "any free servers will do (no nodes)",
            "service times are exponential" if exact else "service times follow gamma laws",
        ),
        valid="exact" if exact else "95 % interval by batch means",
    )


def server_filling(classes: Sequence[JobClass], servers: float) -> ServerFilling:
    """Return the reference of ServerFilling: the mean wait without idle servers.

    The work in the system is then that of one server which is c times as fast
    (Grosof, Harchol-Balter and Scheller-Wolf 2022).

    Examples
    --------
    >>> mix = [JobClass("single", 0.5, 1.0, need=1), JobClass("pair", 0.4, 1.0, need=2)]
    >>> round(server_filling(mix, 2).wait_mean_s, 4)
    1.5
    """
    servers = _checked(classes, servers)
    rate = sum(one.arrivals_per_s for one in classes)
    used = sum(one.offered_load for one in classes) / servers
    if used >= 1:
        needed = math.floor(used * servers) + 1
        raise ParameterError(
            f"ServerFilling: utilisation is {100 * used:.4g} %, so no policy keeps up. "
            f"At least {needed:,} servers are needed."
        )
    second = sum(
        one.arrivals_per_s * one.service_second_s2 * (one.need / servers) ** 2 for one in classes
    )
    wait = second / 2 / (1 - used)
    service = sum(one.arrivals_per_s * one.service_mean_s for one in classes) / rate
    divides = all(servers % one.need == 0 for one in classes)
    return ServerFilling(
        servers=servers,
        utilisation=used,
        wait_mean_s=wait,
        sojourn_mean_s=wait + service,
        assumptions=(
            "arrivals are Poisson",
            "running jobs may be interrupted and resumed at no cost",
            "every need divides the number of servers"
            + ("" if divides else " (not so here: servers stay idle, and the wait is longer)"),
        ),
        valid="exact in heavy traffic; a reference for schedulers, no forecast",
    )


def balanced_split(classes: Sequence[JobClass], servers: float) -> BalancedSplit:
    """Return how to reserve servers per class so that hardly any job waits.

    Each class gets servers in proportion to its load, in slots of its size. A job that finds
    its slots taken overflows to the spare servers; Erlang B says how often.

    Examples
    --------
    >>> mix = [JobClass("single", 10.0, 1.0, need=1), JobClass("eight", 2.0, 1.0, need=8)]
    >>> [(part.slots, round(part.overflow_share, 4)) for part in balanced_split(mix, 52).parts]
    [(20, 0.0019), (4, 0.0952)]
    """
    servers = _checked(classes, servers)
    total = sum(one.offered_load for one in classes)
    parts = []
    for one in classes:
        slots = math.floor(servers * one.offered_load / total / one.need + 1e-9)
        offered = one.offered_load / one.need
        overflow = erlang_b(offered, slots)
        parts.append(SplitPart(one.name, one.need, slots, offered, overflow))
    rate = sum(one.arrivals_per_s for one in classes)
    shares = [one.arrivals_per_s / rate for one in classes]
    return BalancedSplit(
        servers=servers,
        parts=tuple(parts),
        spare_servers=servers - sum(part.slots * part.need for part in parts),
        overflow_share=sum(s * p.overflow_share for s, p in zip(shares, parts, strict=True)),
        assumptions=("arrivals are Poisson", "a class keeps to its slots, others to theirs"),
        valid="overflow exact for any service-time law; an upper bound on the share that waits",
    )


def _checked(classes: Sequence[JobClass], servers: float) -> int:
    servers = require_whole_servers(servers)
    if not classes:
        raise ParameterError("no classes were given; name at least one.")
    for one in classes:
        require_positive(
            arrivals_per_s=one.arrivals_per_s, service_mean_s=one.service_mean_s, need=one.need
        )
        if one.need > servers:
            raise ParameterError(
                f"class {one.name} needs {one.need} servers at once, but there are {servers}."
            )
    return servers


def _simulated(classes: Sequence[JobClass], servers: int, random_state: int) -> Estimate:
    """Return the utilisation of a pool whose queue is never empty, by batch means."""
    from prophase.sim.kernels import fcfs_queue as single_queue

    duration, need = _drawn(classes, random_state)
    jobs = duration.size
    start = np.empty(jobs)
    single_queue.gang_starts(
        np.zeros(jobs),
        duration,
        need,
        servers,
        np.zeros(jobs + 1),
        np.zeros(jobs + 1, np.int64),
        start,
    )
    # work done per server and second; the work of the drawn jobs, not of an average one
    work = (duration * need)[jobs // 10 :].reshape(_BATCHES, -1).sum(axis=1)
    edges = np.append(start[jobs // 10 :: (jobs - jobs // 10) // _BATCHES], start[-1])
    return from_replications(work / np.diff(edges) / servers)


def _drawn(classes: Sequence[JobClass], random_state: int) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(random_state)
    rates = np.array([one.arrivals_per_s for one in classes])
    kind = rng.choice(len(classes), _SIMULATED_JOBS, p=rates / rates.sum())
    scv = np.array([one.service_scv for one in classes])[kind]
    mean = np.array([one.service_mean_s for one in classes])[kind]
    shape = 1 / np.maximum(scv, 1e-12)
    drawn = np.where(scv > 0, rng.standard_gamma(shape) / shape * mean, mean)
    return drawn, np.array([one.need for one in classes], np.int64)[kind]


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
