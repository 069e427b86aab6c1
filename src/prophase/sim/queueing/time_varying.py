"""Arrivals whose rate changes over the day: loads, waits and backlog over time.

The rate is a step function: one value per bin. Offered load comes from M/G/infinity, which
is exact; waits come from the stationary formula at each time, with the load of that moment
(PSA), of its period (SIPP) or of M/G/infinity (MOL); overload is a fluid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from prophase.errors import ParameterError, not_among
from prophase.sim.queueing.erlang import delayed_from_blocked, erlang_b
from prophase.sim.queueing.parameter_checks import Floats, require_positive

VIEWS = {
    "psa": "pointwise stationary: the load of the moment's arrival rate",
    "sipp": "stationary by period: the mean rate of each planning period",
    "mol": "modified offered load: the load M/G/infinity has at that moment",
}


@dataclass(frozen=True)
class OfferedLoad:
    """Busy servers if there were always enough (M/G/infinity), at the end of each bin."""

    bin_s: float
    offered_load: Floats
    mean: float
    peak: float
    peak_at_s: float
    assumptions: tuple[str, ...]
    valid: str


@dataclass(frozen=True)
class WaitOverTime:
    """Waits bin by bin; NaN where the load of the bin reaches the servers."""

    view: str
    bin_s: float
    servers: float
    offered_load: Floats
    wait_probability: Floats
    wait_mean_s: Floats
    #: over all arrivals of bins that are not overloaded
    wait_probability_mean: float
    wait_mean_s_mean: float
    overloaded_share: float
    assumptions: tuple[str, ...]
    valid: str


@dataclass(frozen=True)
class FluidBacklog:
    """Jobs inside and waiting if randomness is ignored, at the end of each bin."""

    bin_s: float
    servers: float
    inside_jobs: Floats
    waiting_jobs: Floats
    #: wait of a job that arrives at the end of the bin
    wait_s: Floats
    wait_mean_s: float
    waiting_peak_jobs: float
    assumptions: tuple[str, ...]
    valid: str


def offered_load(
    rate_per_s: ArrayLike,
    bin_s: float,
    *,
    service_mean_s: float | None = None,
    durations_s: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    periodic: bool = False,
) -> OfferedLoad:
    """Return m(t) of M(t)/G/infinity: how many servers the load would keep busy.

    Parameters
    ----------
    rate_per_s : array of shape (bins,)
        Arrival rate in each bin.
    service_mean_s, durations_s : float or array
        Mean of exponential service, or durations of jobs that stand for their law.
    weights : array, optional
        Servers per job of ``durations_s``; the load then counts servers.
    periodic : bool
        Whether the pattern repeats for ever; else the system starts empty.

    Examples
    --------
    >>> load = offered_load([10.0] * 50, 1.0, service_mean_s=2.0)
    >>> round(float(load.offered_load[-1]), 6)
    20.0
    """
    rate = _rates(rate_per_s, bin_s)
    bins = rate.size
    law = _busy_time(service_mean_s, durations_s, weights)
    # a job of the bin k back adds E[min(S, (k + 1) bin)] - E[min(S, k bin)] on average
    if periodic:
        rounds = math.ceil(40 * _longest(service_mean_s, durations_s) / (bins * bin_s)) + 1
        rounds = min(rounds, 1000)
        seen = np.diff(law(bin_s * np.arange(bins * rounds + 1, dtype=np.float64)))
        kernel = seen.reshape(rounds, bins).sum(axis=0)
        load = np.real(np.fft.ifft(np.fft.fft(rate) * np.fft.fft(kernel)))
    else:
        kernel = np.diff(law(bin_s * np.arange(bins + 1, dtype=np.float64)))
        load = _convolved(rate, kernel)[:bins]
    load = np.maximum(load, 0.0)
    top = int(np.argmax(load))
    return OfferedLoad(
        bin_s=bin_s,
        offered_load=load,
        mean=float(load.mean()),
        peak=float(load[top]),
        peak_at_s=(top + 1) * bin_s,
        assumptions=(
            "arrivals are Poisson with the rate of their bin",
            "service times do not depend on the time of arrival",
            "servers never run out",
        ),
        valid="exact",
    )


def waits_over_time(
    rate_per_s: ArrayLike,
    bin_s: float,
    servers: float,
    *,
    view: str = "mol",
    service_mean_s: float | None = None,
    durations_s: ArrayLike | None = None,
    period_bins: int = 1,
    periodic: bool = False,
) -> WaitOverTime:
    """Return waits over time from M/M/c at the load of each bin.

    Parameters
    ----------
    view : {"psa", "sipp", "mol"}
        What the load of a bin is; see ``VIEWS``.
    period_bins : int
        Bins per planning period, for SIPP.

    Examples
    --------
    >>> day = waits_over_time([4.0, 9.0, 4.0], 3600.0, 12, view="psa", service_mean_s=1.0)
    >>> day.wait_probability.round(4)
    array([0.001, 0.266, 0.001])
    """
    if view not in VIEWS:
        raise ParameterError(not_among(f"view {view!r} is unknown.", view, VIEWS))
    require_positive(servers=servers)
    rate = _rates(rate_per_s, bin_s)
    mean = _mean_service(service_mean_s, durations_s)
    if view == "mol":
        load = offered_load(
            rate,
            bin_s,
            service_mean_s=service_mean_s,
            durations_s=durations_s,
            periodic=periodic,
        ).offered_load
    elif view == "sipp":
        edges = np.arange(0, rate.size, max(1, period_bins))
        counts = np.diff(np.append(edges, rate.size))
        load = np.repeat(np.add.reduceat(rate, edges) / counts, counts) * mean
    else:
        load = rate * mean
    delayed, wait = _stationary_waits(load, servers, mean)
    known = ~np.isnan(wait) & (rate > 0)
    arrivals = rate[known].sum()
    return WaitOverTime(
        view=view,
        bin_s=bin_s,
        servers=servers,
        offered_load=load,
        wait_probability=delayed,
        wait_mean_s=wait,
        wait_probability_mean=float(rate[known] @ delayed[known] / arrivals) if arrivals else 0.0,
        wait_mean_s_mean=float(rate[known] @ wait[known] / arrivals) if arrivals else 0.0,
        overloaded_share=float(np.isnan(wait).mean()),
        assumptions=(
            "arrivals are Poisson with the rate of their bin",
            "the queue is at every moment as if its load had always been that of the moment",
        ),
        valid="good if the load changes little within a service time and stays below the servers"
        if view != "mol"
        else "good while few jobs wait; use the fluid backlog where the load exceeds the servers",
    )


def fluid_backlog(
    rate_per_s: ArrayLike,
    bin_s: float,
    servers: float,
    service_mean_s: float,
    *,
    inside_jobs: float = 0.0,
) -> FluidBacklog:
    """Return the backlog of an overloaded pool: in at the rate, out at min(inside, c) / service.

    Parameters
    ----------
    inside_jobs : float
        Jobs inside at the start.

    Examples
    --------
    >>> rush = fluid_backlog([20.0, 20.0, 0.0, 0.0], 60.0, 10, 1.0)
    >>> rush.waiting_jobs.round(1)
    array([ 593.1, 1193.1,  593.1,    0. ])
    """
    require_positive(servers=servers, service_mean_s=service_mean_s)
    rate = _rates(rate_per_s, bin_s)
    inside = np.empty(rate.size)
    now = inside_jobs
    area = 0.0
    for place, arriving in enumerate(rate.tolist()):
        now, above = _advance(now, arriving, bin_s, servers, service_mean_s)
        inside[place] = now
        area += above
    waiting = np.maximum(inside - servers, 0.0)
    arrivals = float(rate.sum()) * bin_s
    waited = area / arrivals if arrivals else 0.0
    return FluidBacklog(
        bin_s=bin_s,
        servers=servers,
        inside_jobs=inside,
        waiting_jobs=waiting,
        wait_s=waiting * service_mean_s / servers,
        wait_mean_s=waited,
        waiting_peak_jobs=float(waiting.max(initial=0.0)),
        assumptions=("arrivals and service flow evenly", "service times are exponential"),
        valid="good for long overload of many servers; says nothing where the load is below them",
    )


def _advance(
    inside: float, arriving: float, span: float, servers: float, service: float
) -> tuple[float, float]:
    """Solve x' = arriving - min(x, c) / service over a bin; return x and the area above c."""
    area, settled = 0.0, arriving * service
    drift = (settled - servers) / service
    while span > 0:
        if inside > servers or (inside == servers and drift >= 0):
            over = inside - servers
            until = span if drift >= 0 else min(span, over / -drift)
            area += (over + drift * until / 2) * until
            inside = servers + max(0.0, over + drift * until)
        else:
            until = span
            if drift > 0:
                until = min(span, service * math.log((settled - inside) / (settled - servers)))
            below = settled + (inside - settled) * math.exp(-until / service)
            inside = below if until == span else servers
        span -= until
    return inside, area


def _stationary_waits(load: Floats, servers: float, service: float) -> tuple[Floats, Floats]:
    delayed, wait = np.full(load.size, np.nan), np.full(load.size, np.nan)
    for place, one in enumerate(load.tolist()):
        if one <= 1e-12:
            delayed[place] = wait[place] = 0.0
        elif one < servers:
            share = delayed_from_blocked(erlang_b(one, servers), one / servers)
            delayed[place], wait[place] = share, share * service / (servers - one)
    return delayed, wait


def _convolved(one: Floats, two: Floats) -> Floats:
    size = 1 << (one.size + two.size - 1).bit_length()
    both: Floats = np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(two, size), size)
    return both


def _rates(rate_per_s: ArrayLike, bin_s: float) -> Floats:
    require_positive(bin_s=bin_s)
    rate = np.asarray(rate_per_s, np.float64).reshape(-1)
    if rate.size == 0 or not np.isfinite(rate).all() or (rate < 0).any():
        raise ParameterError("rate_per_s needs one rate per bin, none negative or missing.")
    return rate


def _mean_service(mean: float | None, durations: ArrayLike | None) -> float:
    if (mean is None) == (durations is None):
        raise ParameterError("give either service_mean_s or durations_s.")
    value = float(np.mean(np.asarray(durations, float))) if mean is None else mean
    require_positive(service_mean_s=value)
    return value


def _longest(mean: float | None, durations: ArrayLike | None) -> float:
    return mean if mean is not None else float(np.max(np.asarray(durations, float))) / 40


def _busy_time(
    mean: float | None, durations: ArrayLike | None, weights: ArrayLike | None
) -> Callable[[Floats], Floats]:
    """Return x -> E[weight min(S, x)]: how long an average job has been busy x after arriving."""
    _mean_service(mean, durations)
    if mean is not None:
        return lambda x: mean * -np.expm1(-x / mean)
    known = np.asarray(durations, np.float64)
    order = np.argsort(known)
    sizes = known[order]
    heavy = np.ones(sizes.size) if weights is None else np.asarray(weights, np.float64)[order]
    done = np.concatenate([[0.0], np.cumsum(sizes * heavy)])
    beyond = np.concatenate([np.cumsum(heavy[::-1])[::-1], [0.0]])

    def busy(x: Floats) -> Floats:
        ended = np.searchsorted(sizes, x, side="right")
        result: Floats = (done[ended] + x * beyond[ended]) / sizes.size
        return result

    return busy
