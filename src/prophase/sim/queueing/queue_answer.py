"""The answer of a queueing formula: numbers with units, and what they rest on."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from prophase.sim.queueing.parameter_checks import require_share


@dataclass(frozen=True)
class QueueAnswer:
    """How one queue behaves in the long run.

    Attributes
    ----------
    offered_load : float
        Servers busy on average; the erlangs of telephony.
    wait_probability : float
        Share of jobs that wait at all.
    wait_decay_per_s : float
        Jobs that wait do so for more than t with probability ``exp(-wait_decay_per_s * t)``.
    exact : bool
        Whether mean wait and wait probability are exact under the assumptions.
    tail_exact : bool
        Whether ``wait_exceeds`` and ``wait_quantile_s`` are exact, too.
    """

    model: str
    method: str
    arrivals_per_s: float
    service_mean_s: float
    servers: float
    arrival_scv: float
    service_scv: float
    offered_load: float
    utilisation: float
    wait_probability: float
    wait_mean_s: float
    wait_decay_per_s: float
    sojourn_mean_s: float
    queue_mean_jobs: float
    system_mean_jobs: float
    exact: bool
    tail_exact: bool
    assumptions: tuple[str, ...]
    valid: str

    def wait_exceeds(self, time_s: float) -> float:
        """Return P(wait > time_s).

        Examples
        --------
        >>> from prophase.sim.queueing.mmc import mmc
        >>> round(mmc(0.5, 1.0, 1).wait_exceeds(2.0), 6)
        0.18394
        """
        if self.wait_probability == 0 or time_s <= 0:
            return self.wait_probability if time_s >= 0 else 1.0
        return self.wait_probability * math.exp(-self.wait_decay_per_s * time_s)

    def wait_quantile_s(self, share: float) -> float:
        """Return the wait that this share of jobs does not exceed.

        Examples
        --------
        >>> from prophase.sim.queueing.mmc import mmc
        >>> mmc(0.5, 1.0, 1).wait_quantile_s(0.4)
        0.0
        """
        require_share(share=share)
        if self.wait_probability <= 1 - share:
            return 0.0
        return math.log(self.wait_probability / (1 - share)) / self.wait_decay_per_s

    def to_dict(self) -> dict[str, Any]:
        """Return all fields and the usual quantiles, as JSON knows them."""
        shares = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))
        quantiles = {f"wait_{name}_s": self.wait_quantile_s(share) for name, share in shares}
        return {**asdict(self), **quantiles, "assumptions": list(self.assumptions)}


def queue_answer(
    model: str,
    method: str,
    *,
    arrivals_per_s: float,
    service_mean_s: float,
    servers: float,
    wait_probability: float,
    wait_mean_s: float,
    assumptions: tuple[str, ...],
    valid: str,
    service_scv: float = 1.0,
    exact: bool = False,
    tail_exact: bool = False,
) -> QueueAnswer:
    """Complete an answer from its mean wait by Little's law; arrivals are Poisson."""
    load = arrivals_per_s * service_mean_s
    # an empty queue has no tail; waits too rare for a float count as none
    decay = wait_probability / wait_mean_s if wait_mean_s > 0 else math.inf
    return QueueAnswer(
        model=model,
        method=method,
        arrivals_per_s=arrivals_per_s,
        service_mean_s=service_mean_s,
        servers=servers,
        arrival_scv=1.0,
        service_scv=service_scv,
        offered_load=load,
        utilisation=load / servers,
        wait_probability=wait_probability,
        wait_mean_s=wait_mean_s,
        wait_decay_per_s=decay,
        sojourn_mean_s=wait_mean_s + service_mean_s,
        queue_mean_jobs=arrivals_per_s * wait_mean_s,
        system_mean_jobs=arrivals_per_s * wait_mean_s + load,
        exact=exact,
        tail_exact=tail_exact,
        assumptions=assumptions,
        valid=valid,
    )


POISSON = "arrivals are Poisson with a steady rate"
EXPONENTIAL = "service times are exponential"
INDEPENDENT = "service times are independent of each other and of arrivals"
ONE_SERVER_EACH = "every job takes one server; servers are alike"
FIFO = "first come, first served; nobody gives up"
