"""Any arrivals, any service, several servers: formulas from two moments of each.

They hold for independent gaps between arrivals. A trace with bursts, days and weeks breaks
that, however large the SCV one puts in.
"""

from __future__ import annotations

import math
from dataclasses import replace

from scipy.special import ndtr

from prophase.errors import ParameterError, not_among
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.parameter_checks import require_scv
from prophase.sim.queueing.queue_answer import (
    FIFO,
    INDEPENDENT,
    ONE_SERVER_EACH,
    QueueAnswer,
    queue_answer,
)

GGC_METHODS = {
    "whitt": "Whitt (1993) for GI/G/m; for one server Kraemer and Langenbach-Belz (1976)",
    "allen-cunneen": "M/M/c times (arrival SCV + service SCV) / 2",
    "kingman": "Kingman (1962) for servers that take jobs in turn: an upper bound, no estimate",
}
_RENEWAL = "gaps between arrivals are independent and alike"


def ggc(
    arrivals_per_s: float,
    service_mean_s: float,
    servers: float,
    *,
    arrival_scv: float,
    service_scv: float,
    method: str = "whitt",
) -> QueueAnswer:
    """Return an approximation, or a bound, of the long-run behaviour of G/G/c.

    Parameters
    ----------
    arrival_scv, service_scv : float
        Variance over squared mean of gaps between arrivals and of service times.
    method : {"whitt", "allen-cunneen", "kingman"}
        Kingman's is an upper bound on the mean wait.

    Examples
    --------
    >>> answer = ggc(45.0, 1.0, 50, arrival_scv=4.0, service_scv=1.0)
    >>> round(answer.wait_mean_s, 4)
    0.1979
    """
    if method not in GGC_METHODS:
        raise ParameterError(not_among(f"method {method!r} is unknown here.", method, GGC_METHODS))
    require_scv(arrival_scv=arrival_scv, service_scv=service_scv)
    markov = mmc(arrivals_per_s, service_mean_s, servers)
    used, delayed = markov.utilisation, markov.wait_probability
    if method == "kingman":
        delayed, wait = 1.0, _kingman_s(arrivals_per_s, used, servers, arrival_scv, service_scv)
    else:
        factor = (arrival_scv + service_scv) / 2
        if method == "whitt":
            factor *= whitt_factor(used, arrival_scv, service_scv, servers)
            delayed = _delayed(used, arrival_scv, service_scv, servers, delayed)
        wait = factor * markov.wait_mean_s
    if arrival_scv == service_scv == 0:
        delayed = wait = 0.0
    answer = queue_answer(
        f"G/G/{servers:g}",
        method,
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_mean_s,
        servers=servers,
        service_scv=service_scv,
        wait_probability=delayed,
        wait_mean_s=wait,
        assumptions=(_RENEWAL, INDEPENDENT, ONE_SERVER_EACH, FIFO),
        valid=_trust(arrival_scv, service_scv, servers, method),
    )
    return replace(answer, arrival_scv=arrival_scv)


def cosmetatos_factor(utilisation: float, servers: float) -> float:
    """Return the mean wait of M/D/c over half that of M/M/c (Cosmetatos 1975).

    Examples
    --------
    >>> cosmetatos_factor(0.9, 1)
    1.0
    """
    return 1 + _gamma(utilisation, servers)


def whitt_factor(
    utilisation: float, arrival_scv: float, service_scv: float, servers: float
) -> float:
    """Return phi, by which Whitt (1993) corrects Allen and Cunneen (equations 2.16 to 2.25).

    For one server his QNA (1983) is used, which is exact for M/G/1.

    Examples
    --------
    >>> whitt_factor(0.9, 1.0, 1.0, 50), whitt_factor(0.9, 1.0, 30.0, 1)
    (1.0, 1.0)
    """
    ca2, cs2 = arrival_scv, service_scv
    both = ca2 + cs2
    if servers == 1:
        if ca2 >= 1 or both == 0:
            return 1.0
        return math.exp(-2 * (1 - utilisation) * (1 - ca2) ** 2 / (3 * utilisation * both))
    gamma = _gamma(utilisation, servers)
    phi1 = 1 + gamma
    phi3 = (1 - 4 * gamma) * math.exp(-2 * (1 - utilisation) / (3 * utilisation))
    phi4 = min(1.0, (phi1 + phi3) / 2)
    mean = both / 2
    psi = 1.0 if mean >= 1 else phi4 ** (2 * (1 - mean))
    if ca2 > cs2:
        scale = 4 * ca2 - 3 * cs2
        return 4 * (ca2 - cs2) / scale * phi1 + cs2 / scale * psi
    if ca2 < cs2:
        return (cs2 - ca2) / (2 * both) * phi3 + (cs2 + 3 * ca2) / (2 * both) * psi
    return psi


def _gamma(utilisation: float, servers: float) -> float:
    bare = (1 - utilisation) * (servers - 1) * (math.sqrt(4 + 5 * servers) - 2)
    # 0.24 keeps phi3 positive where Cosmetatos' fit was never meant to be used
    return min(0.24, bare / (16 * servers * utilisation))


def _delayed(rho: float, ca2: float, cs2: float, m: float, markov: float) -> float:
    """Return P(wait > 0) of GI/G/m (Whitt 1993, section 3), in his notation."""
    if ca2 + cs2 == 0:
        return 0.0
    spare = (1 - rho) * math.sqrt(m)
    pi4 = _scaled(markov, (1 + cs2) * spare / (ca2 + cs2), spare)
    pi5 = _scaled(markov, 2 * spare / (1 + ca2), spare)
    pi1 = rho**2 * pi4 + (1 - rho**2) * pi5
    z = (ca2 + cs2) / (1 + cs2)
    gamma = (m - m * rho - 0.5) / math.sqrt(m * rho * z)
    if m <= 6 or gamma <= 0.5 or ca2 >= 1:
        return min(1.0, pi1)
    pi2 = ca2 * pi1 + (1 - ca2) * float(ndtr(-gamma))
    if gamma >= 1:
        return min(1.0, pi2)
    share = 2 * (1 - ca2) * (gamma - 0.5)
    return min(1.0, share * pi2 + (1 - share) * pi1)


def _scaled(markov: float, point: float, base: float) -> float:
    """Return the M/M/m probability times a ratio of normal tails, at most 1."""
    below = float(ndtr(-base))
    return min(1.0, markov * float(ndtr(-point)) / below) if below > 0 else markov


def _kingman_s(rate: float, used: float, servers: float, ca2: float, cs2: float) -> float:
    """Bound the mean wait by that of servers which take jobs in turn.

    Each such server is G/G/1 with c times the gap, to which Kingman's inequality applies;
    first come first served does at least as well in the mean (Wolff 1977).
    """
    gap = 1 / rate
    service = used * servers * gap
    return (ca2 * gap**2 + cs2 * service**2 / servers) / (2 * gap * (1 - used))


def _trust(arrival_scv: float, service_scv: float, servers: float, method: str) -> str:
    if method == "kingman":
        return "an upper bound on the mean wait; P(wait > t) is not bounded by it"
    if arrival_scv == service_scv == 1:
        return "exact"
    if max(arrival_scv, service_scv) <= 4 and servers <= 100:
        return "within about 30 %"
    return "a rough estimate: two moments do not decide the wait at such variability"
