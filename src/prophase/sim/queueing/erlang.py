"""Erlang's two formulas, stable for any number of servers."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaincc, gammaln

from prophase.errors import ParameterError
from prophase.sim.queueing.parameter_checks import refuse_unstable, require_positive

#: above this load exp(-load) leaves the range of floats, and the integral is smooth
_LARGE_LOAD = 500.0


def erlang_b(offered_load: float, servers: float) -> float:
    """Return the share of jobs turned away when nobody waits (M/G/c/c).

    Parameters
    ----------
    offered_load : float
        Arrival rate times mean service time: busy servers if there were enough.
    servers : float
        From 0; fractions are allowed, as the formula has a smooth continuation.

    Examples
    --------
    >>> round(erlang_b(10.0, 10), 6)
    0.214582
    """
    require_positive(offered_load=offered_load)
    if not (math.isfinite(servers) and servers >= 0):
        raise ParameterError(f"servers is {servers}, but must be 0 or more.")
    whole = math.floor(servers)
    fraction = servers - whole
    blocked = _blocking_below_one(offered_load, fraction) if fraction else 1.0
    for extra in range(1, whole + 1):
        carried = offered_load * blocked
        blocked = carried / (fraction + extra + carried)
    return blocked


def erlang_c(offered_load: float, servers: float) -> float:
    """Return the share of jobs that wait in M/M/c.

    Examples
    --------
    >>> round(erlang_c(10.0, 12), 6)
    0.449388
    """
    require_positive(offered_load=offered_load, servers=servers)
    refuse_unstable("Erlang C", offered_load, servers)
    return delayed_from_blocked(erlang_b(offered_load, servers), offered_load / servers)


def delayed_from_blocked(blocked: float, utilisation: float) -> float:
    """Return Erlang C from Erlang B at the same load and servers."""
    return blocked / (1 - utilisation * (1 - blocked))


def _blocking_below_one(load: float, servers: float) -> float:
    """Erlang B for less than one server: a**c exp(-a) / Gamma(c + 1, a)."""
    if load <= _LARGE_LOAD:
        scale = servers * math.log(load) - load - float(gammaln(servers + 1))
        return float(math.exp(scale) / gammaincc(servers + 1, load))
    # Jagerman (1974): 1 / B = integral of exp(-u) (1 + u / a)**c du
    nodes, weights = np.polynomial.laguerre.laggauss(32)
    return float(1 / np.sum(weights * (1 + nodes / load) ** servers))
