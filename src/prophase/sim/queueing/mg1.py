"""One server, Poisson arrivals, any service time: Pollaczek and Khinchine."""

from __future__ import annotations

from prophase.sim.queueing.checks import refuse_unstable, require_positive, require_scv
from prophase.sim.queueing.result import (
    FIFO,
    INDEPENDENT,
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


def wait_variance_s2(
    arrivals_per_s: float, service_mean_s: float, second_s2: float, third_s3: float
) -> float:
    """Return the variance of the wait in M/G/1 from three moments of the service time.

    Examples
    --------
    >>> wait_variance_s2(0.5, 1.0, 2.0, 6.0)  # M/M/1: (2 - load) load / (1 - load)**2
    3.0
    """
    require_positive(
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_mean_s,
        second_s2=second_s2,
        third_s3=third_s3,
    )
    load = arrivals_per_s * service_mean_s
    refuse_unstable("M/G/1", load, 1)
    mean = arrivals_per_s * second_s2 / (2 * (1 - load))
    return mean**2 + arrivals_per_s * third_s3 / (3 * (1 - load))
