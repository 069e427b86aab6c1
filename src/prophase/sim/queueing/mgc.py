"""Poisson arrivals, any service time: one server (Pollaczek and Khinchine), or several."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammainc

from prophase.errors import ParameterError, not_among
from prophase.sim.queueing.ggc import cosmetatos_factor, whitt_factor
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.parameter_checks import (
    refuse_unstable,
    require_positive,
    require_scv,
    require_whole_servers,
)
from prophase.sim.queueing.queue_answer import (
    FIFO,
    INDEPENDENT,
    ONE_SERVER_EACH,
    POISSON,
    QueueAnswer,
    queue_answer,
)


def mg1(arrivals_per_s: float, service_mean_s: float, service_scv: float = 1.0) -> QueueAnswer:
    """Return the long-run behaviour of M/G/1; mean and wait probability are exact.

    Parameters
    ----------
    service_scv : float, default=1
        Variance over squared mean of the service time: 0 constant, 1 exponential.

    Examples
    --------
    >>> mg1(0.5, 1.0, 0.0).wait_mean_s
    0.5
    """
    require_positive(arrivals_per_s=arrivals_per_s, service_mean_s=service_mean_s)
    require_scv(service_scv=service_scv)
    load = arrivals_per_s * service_mean_s
    refuse_unstable("M/G/1", load, 1)
    return queue_answer(
        "M/G/1",
        "Pollaczek-Khinchine",
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_mean_s,
        servers=1,
        service_scv=service_scv,
        wait_probability=load,
        wait_mean_s=load * service_mean_s * (1 + service_scv) / (2 * (1 - load)),
        exact=True,
        tail_exact=service_scv == 1.0,
        assumptions=(POISSON, INDEPENDENT, FIFO),
        valid="mean exact; P(wait > t) fits an exponential to the mean, good in heavy traffic",
    )


# Several servers, Poisson arrivals, any service time.
#
# No closed form is known for M/G/c. Three approximations are offered; they agree for
# exponential service and for one server, and part for many servers with long-tailed service.
# M/D/c, constant service, is exact.


MGC_METHODS = {
    "whitt": "Whitt (1993): Erlang C, with a correction for SCV and number of servers",
    "kimura": "Kimura (1986): from M/D/c and M/M/c; good to SCV 10, too low beyond",
    "allen-cunneen": "M/M/c times (1 + SCV) / 2; too high for many servers and long tails",
}
MDC_METHODS = {
    "exact": "Pollaczek's series for M/D/c, here by Spitzer's identity",
    "cosmetatos": "Cosmetatos (1975): M/M/c / 2, corrected for the number of servers",
}
#: the exact series would need more terms than this only where the approximation is good
_MOST_TERMS = 200_000
_CHUNK = 50_000


def mgc(
    arrivals_per_s: float,
    service_mean_s: float,
    servers: float,
    service_scv: float = 1.0,
    *,
    method: str = "whitt",
) -> QueueAnswer:
    """Return an approximation of the long-run behaviour of M/G/c.

    Parameters
    ----------
    service_scv : float, default=1
        Variance over squared mean of the service time.
    method : {"whitt", "kimura", "allen-cunneen"}
        Which approximation. All are exact for one server and for exponential service.

    Examples
    --------
    >>> for method in MGC_METHODS:
    ...     print(method, round(mgc(45.0, 1.0, 50, 10.0, method=method).wait_mean_s, 3))
    whitt 0.331
    kimura 0.225
    allen-cunneen 0.4
    """
    _refuse_unknown(method, MGC_METHODS)
    require_scv(service_scv=service_scv)
    markov = mmc(arrivals_per_s, service_mean_s, servers)
    model = f"M/G/{servers:g}"
    if servers == 1:
        return mg1(arrivals_per_s, service_mean_s, service_scv)
    used = markov.utilisation
    if method == "whitt":
        factor = (1 + service_scv) / 2 * whitt_factor(used, 1.0, service_scv, servers)
    elif method == "kimura":
        constant = cosmetatos_factor(used, servers)
        factor = (1 + service_scv) / 2 / (1 + (service_scv - 1) * (1 - 1 / constant))
    else:
        factor = (1 + service_scv) / 2
    return queue_answer(
        model,
        method,
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_mean_s,
        servers=servers,
        service_scv=service_scv,
        wait_probability=markov.wait_probability,
        wait_mean_s=factor * markov.wait_mean_s,
        exact=service_scv == 1.0,
        tail_exact=service_scv == 1.0,
        assumptions=(POISSON, INDEPENDENT, ONE_SERVER_EACH, FIFO),
        valid=_trust(service_scv, method),
    )


def mdc(
    arrivals_per_s: float, service_s: float, servers: float, *, method: str = "exact"
) -> QueueAnswer:
    """Return the long-run behaviour of M/D/c, constant service.

    Parameters
    ----------
    method : {"exact", "cosmetatos"}
        The exact series, or a quick approximation, good under load.

    Examples
    --------
    >>> round(mdc(0.9, 1.0, 1).wait_mean_s, 6), round(mdc(18.0, 1.0, 20).wait_mean_s, 6)
    (4.5, 0.144286)
    """
    _refuse_unknown(method, MDC_METHODS)
    require_positive(arrivals_per_s=arrivals_per_s, service_s=service_s)
    servers = require_whole_servers(servers)
    load = arrivals_per_s * service_s
    refuse_unstable(f"M/D/{servers}", load, servers)
    used = load / servers
    terms = math.ceil(32.0 / (servers * (used - 1 - math.log(used))))
    exact = method == "exact"
    if exact and (servers == 1 or terms > _MOST_TERMS):
        # one server: Pollaczek-Khinchine; near saturation the correction is below 1e-4
        exact = servers == 1
    if exact and servers > 1:
        idle, wait = _spitzer(load, servers, terms)
        delayed, wait = 1 - idle, wait * service_s
    else:
        markov = mmc(arrivals_per_s, service_s, servers)
        delayed = markov.wait_probability
        wait = markov.wait_mean_s / 2 * cosmetatos_factor(used, servers)
    return queue_answer(
        f"M/D/{servers}",
        "exact" if exact else "cosmetatos",
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_s,
        servers=servers,
        service_scv=0.0,
        wait_probability=delayed,
        wait_mean_s=wait,
        exact=exact,
        assumptions=(POISSON, "service times are all the same", ONE_SERVER_EACH, FIFO),
        valid="mean exact; P(wait > t) fits an exponential to it"
        if exact
        else "within 10 % above a utilisation of 0.7",
    )


def _spitzer(load: float, servers: int, terms: int) -> tuple[float, float]:
    """Return P(no wait) and the mean wait in service times.

    With constant service, first come first served hands jobs to servers in turn. So every
    server sees E_c/D/1, and the wait is the highest point of a random walk whose i-th place
    is i - G, with G the time of the (i c)-th arrival. Spitzer's identity sums over i.
    """
    log_idle, wait = 0.0, 0.0
    for first in range(1, terms + 1, _CHUNK):
        i = np.arange(first, min(first + _CHUNK, terms + 1), dtype=float)
        arrivals, room = i * load, i * servers
        enough, more = gammainc(room, arrivals), gammainc(room + 1, arrivals)
        log_idle -= float(np.sum(enough / i))
        wait += float(np.sum(np.maximum(enough - servers / load * more, 0.0)))
    return math.exp(log_idle), wait


def _trust(service_scv: float, method: str) -> str:
    if service_scv == 1.0:
        return "exact"
    if service_scv <= 2:
        return "within a few percent"
    if method == "allen-cunneen":
        return "mostly too high: up to 4 times for hundreds of servers and SCV 40"
    if method == "kimura" and service_scv > 10:
        return "too low, up to 3 times: use whitt"
    return "a rough estimate: the wait depends on more than two moments of the service time"


def _refuse_unknown(method: str, known: dict[str, str]) -> None:
    if method not in known:
        raise ParameterError(not_among(f"method {method!r} is unknown here.", method, known))
