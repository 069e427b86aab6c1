"""Poisson arrivals and exponential service: M/M/c, with and without room to wait."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from prophase.errors import ParameterError
from prophase.sim.queueing.erlang import erlang_b, erlang_c
from prophase.sim.queueing.parameter_checks import (
    refuse_unstable,
    require_positive,
    require_whole_servers,
)
from prophase.sim.queueing.queue_answer import (
    EXPONENTIAL,
    FIFO,
    INDEPENDENT,
    ONE_SERVER_EACH,
    POISSON,
    QueueAnswer,
    queue_answer,
)


@dataclass(frozen=True)
class LossAnswer:
    """How a queue with limited room behaves in the long run; waits are of accepted jobs."""

    model: str
    method: str
    arrivals_per_s: float
    service_mean_s: float
    servers: int
    capacity: int
    offered_load: float
    utilisation: float
    blocked_share: float
    accepted_per_s: float
    wait_probability: float
    wait_mean_s: float
    sojourn_mean_s: float
    queue_mean_jobs: float
    system_mean_jobs: float
    exact: bool
    assumptions: tuple[str, ...]
    valid: str

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON knows them."""
        return {**asdict(self), "assumptions": list(self.assumptions)}


def mmc(arrivals_per_s: float, service_mean_s: float, servers: float) -> QueueAnswer:
    """Return the long-run behaviour of M/M/c, exactly.

    Parameters
    ----------
    arrivals_per_s : float
        Mean arrival rate.
    service_mean_s : float
        Mean service time.
    servers : float
        Usually whole; fractions interpolate smoothly (a pool shared by jobs of several GPUs).

    Examples
    --------
    >>> answer = mmc(45.0, 1.0, 50)
    >>> round(answer.wait_probability, 6), round(answer.wait_mean_s, 6)
    (0.363864, 0.072773)
    """
    require_positive(arrivals_per_s=arrivals_per_s, service_mean_s=service_mean_s, servers=servers)
    load = arrivals_per_s * service_mean_s
    refuse_unstable(f"M/M/{servers:g}", load, servers)
    delayed = erlang_c(load, servers)
    return queue_answer(
        f"M/M/{servers:g}",
        "Erlang C",
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_mean_s,
        servers=servers,
        wait_probability=delayed,
        wait_mean_s=delayed * service_mean_s / (servers - load),
        exact=True,
        tail_exact=True,
        assumptions=(POISSON, EXPONENTIAL, INDEPENDENT, ONE_SERVER_EACH, FIFO),
        valid="exact",
    )


def mmck(arrivals_per_s: float, service_mean_s: float, servers: float, capacity: int) -> LossAnswer:
    """Return the long-run behaviour of M/M/c/K: jobs that find K others inside are lost.

    Parameters
    ----------
    capacity : int
        Most jobs inside, waiting and in service; at least ``servers``.

    Examples
    --------
    >>> round(mmck(1.0, 1.0, 1, 4).blocked_share, 6)
    0.2
    """
    require_positive(arrivals_per_s=arrivals_per_s, service_mean_s=service_mean_s)
    servers = require_whole_servers(servers)
    if capacity < servers:
        raise ParameterError(
            f"capacity is {capacity}, but counts jobs in service too: at least {servers}."
        )
    load = arrivals_per_s * service_mean_s
    inside = np.arange(capacity + 1)
    # logarithms of p_n / p_0 up to c, then a geometric tail; factorials would overflow
    steps = np.log(load) - np.log(np.minimum(np.maximum(inside, 1), servers))
    steps[0] = 0.0
    weight = np.cumsum(steps)
    share = np.exp(weight - weight.max())
    share /= share.sum()
    blocked = float(share[-1])
    accepted = arrivals_per_s * (1 - blocked)
    queue = float(share[servers:] @ (inside[servers:] - servers))
    wait = queue / accepted
    return LossAnswer(
        model=f"M/M/{servers}/{capacity}",
        method="birth and death",
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_mean_s,
        servers=servers,
        capacity=capacity,
        offered_load=load,
        utilisation=accepted * service_mean_s / servers,
        blocked_share=blocked,
        accepted_per_s=accepted,
        wait_probability=float(share[servers:capacity].sum() / (1 - blocked)),
        wait_mean_s=wait,
        sojourn_mean_s=wait + service_mean_s,
        queue_mean_jobs=queue,
        system_mean_jobs=queue + accepted * service_mean_s,
        exact=True,
        assumptions=(
            POISSON,
            EXPONENTIAL,
            INDEPENDENT,
            ONE_SERVER_EACH,
            "first come, first served; jobs that find no room are lost",
        ),
        valid="exact, for any load",
    )


def loss(arrivals_per_s: float, service_mean_s: float, servers: float) -> LossAnswer:
    """Return the long-run behaviour without a queue (M/G/c/c): Erlang's loss formula.

    Examples
    --------
    >>> round(loss(10.0, 1.0, 10).blocked_share, 6)
    0.214582
    """
    require_positive(arrivals_per_s=arrivals_per_s, service_mean_s=service_mean_s)
    servers = require_whole_servers(servers)
    load = arrivals_per_s * service_mean_s
    blocked = erlang_b(load, servers)
    carried = load * (1 - blocked)
    return LossAnswer(
        model=f"M/G/{servers}/{servers}",
        method="Erlang B",
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_mean_s,
        servers=servers,
        capacity=servers,
        offered_load=load,
        utilisation=carried / servers,
        blocked_share=blocked,
        accepted_per_s=arrivals_per_s * (1 - blocked),
        wait_probability=0.0,
        wait_mean_s=0.0,
        sojourn_mean_s=service_mean_s,
        queue_mean_jobs=0.0,
        system_mean_jobs=carried,
        exact=True,
        assumptions=(POISSON, INDEPENDENT, ONE_SERVER_EACH, "jobs that find no server are lost"),
        valid="exact for any service-time law with this mean, for any load",
    )
