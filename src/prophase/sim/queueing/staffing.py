"""How many servers: the square-root rule, and the least number that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from scipy.special import ndtr

from prophase.errors import ParameterError
from prophase.sim.queueing.erlang import erlang_c
from prophase.sim.queueing.parameter_checks import require_positive, require_share

_MOST_SERVERS = 10_000_000
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Staffing:
    """Servers by the square-root rule: load + beta * sqrt(load), rounded up."""

    offered_load: float
    beta: float
    servers: int
    utilisation: float
    #: P(wait > 0) by the limit of many servers, and exactly by Erlang C
    wait_probability_limit: float
    wait_probability_erlang: float
    assumptions: tuple[str, ...]
    valid: str

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON knows them."""
        return {**asdict(self), "assumptions": list(self.assumptions)}


def square_root_staffing(
    offered_load: float, *, beta: float | None = None, wait_probability: float | None = None
) -> Staffing:
    """Return the servers for a load by the square-root rule.

    Parameters
    ----------
    offered_load : float
        Servers busy on average.
    beta : float, optional
        Safety, in square roots of the load.
    wait_probability : float, optional
        Share of jobs that may wait; gives beta by Halfin and Whitt (1981).

    Examples
    --------
    >>> plan = square_root_staffing(1000.0, wait_probability=0.2)
    >>> plan.servers, round(plan.beta, 4), round(plan.wait_probability_erlang, 4)
    (1034, 1.0615, 0.1994)
    """
    require_positive(offered_load=offered_load)
    if (beta is None) == (wait_probability is None):
        raise ParameterError("give either beta or wait_probability.")
    if wait_probability is not None:
        beta = beta_for_delay(wait_probability)
    assert beta is not None
    require_positive(beta=beta)
    servers = math.ceil(offered_load + beta * math.sqrt(offered_load) - 1e-9)
    servers = max(servers, math.floor(offered_load) + 1)
    return Staffing(
        offered_load=offered_load,
        beta=beta,
        servers=servers,
        utilisation=offered_load / servers,
        wait_probability_limit=halfin_whitt_delay(beta),
        wait_probability_erlang=erlang_c(offered_load, servers),
        assumptions=("arrivals are Poisson", "service times are exponential", "nobody gives up"),
        valid="the limit is within a few percent of Erlang C from about 10 servers",
    )


def halfin_whitt_delay(beta: float) -> float:
    """Return P(wait > 0) of many servers with a safety of beta square roots of the load.

    Examples
    --------
    >>> round(halfin_whitt_delay(0.5), 6)
    0.504539
    """
    require_positive(beta=beta)
    density = math.exp(-(beta**2) / 2) / math.sqrt(2 * math.pi)
    return density / (density + beta * float(ndtr(beta)))


def beta_for_delay(wait_probability: float) -> float:
    """Return the safety beta at which this share of jobs waits.

    Examples
    --------
    >>> round(halfin_whitt_delay(beta_for_delay(0.1)), 9)
    0.1
    """
    from scipy.optimize import brentq

    require_share(wait_probability=wait_probability)
    return float(
        brentq(lambda beta: halfin_whitt_delay(beta) - wait_probability, 1e-12, 38.0, xtol=1e-13)
    )


def least_servers(
    evaluate: Callable[[int], Answer], meets: Callable[[Answer], bool], *, first: int
) -> tuple[int, Answer]:
    """Return the fewest servers from ``first`` on whose answer meets a target, and the answer.

    More servers never do worse, so the number is found by doubling and halving.

    Examples
    --------
    >>> from prophase.sim.queueing.mmc import mmc
    >>> servers, answer = least_servers(
    ...     lambda c: mmc(45.0, 1.0, c), lambda found: found.wait_mean_s < 0.01, first=46
    ... )
    >>> servers, round(answer.wait_mean_s, 5)
    (56, 0.00698)
    """
    step, low = 1, first
    found = evaluate(first)
    if meets(found):
        return first, found
    while True:
        high = low + step
        if high > _MOST_SERVERS:
            raise ParameterError(f"even {low:,} servers do not meet the target.")
        found = evaluate(high)
        if meets(found):
            break
        low, step = high, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        tried = evaluate(middle)
        if meets(tried):
            high, found = middle, tried
        else:
            low = middle
    return high, found
