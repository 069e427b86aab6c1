"""Classes of jobs that go before others: waits per class.

One server: Cobham (1954) without, and the classic formula with preemption. Several
servers: Bondi and Buzen (1984) scale these by what FIFO loses from c servers to one that is
c times as fast. For exponential service of one rate the result is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from prophase.errors import ParameterError
from prophase.sim.queueing.mgc import mg1, mgc
from prophase.sim.queueing.parameter_checks import (
    Floats,
    refuse_unstable,
    require_positive,
    require_scv,
)
from prophase.sim.queueing.queue_answer import INDEPENDENT, ONE_SERVER_EACH, POISSON


@dataclass(frozen=True)
class JobClass:
    """Jobs of one kind: how often they come and how long they run.

    ``need`` counts the servers a job takes at once; only the gang models read it.
    """

    name: str
    arrivals_per_s: float
    service_mean_s: float
    service_scv: float = 1.0
    need: int = 1

    @property
    def offered_load(self) -> float:
        """Servers busy with this class on average."""
        return self.arrivals_per_s * self.service_mean_s * self.need

    @property
    def service_second_s2(self) -> float:
        """Second moment of the service time."""
        return self.service_mean_s**2 * (1 + self.service_scv)


@dataclass(frozen=True)
class ClassWait:
    """What one class meets; the wait includes time lost to preemption."""

    name: str
    arrivals_per_s: float
    service_mean_s: float
    utilisation: float
    wait_mean_s: float
    sojourn_mean_s: float
    queue_mean_jobs: float


@dataclass(frozen=True)
class PriorityAnswer:
    """Waits per class, most urgent first, and over all jobs."""

    model: str
    method: str
    servers: float
    preemptive: bool
    utilisation: float
    classes: tuple[ClassWait, ...]
    wait_mean_s: float
    fifo_wait_mean_s: float
    exact: bool
    assumptions: tuple[str, ...]
    valid: str

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON knows them."""
        return {
            **asdict(self),
            "classes": [asdict(one) for one in self.classes],
            "assumptions": list(self.assumptions),
        }


def aggregate(classes: Sequence[JobClass], name: str = "all") -> JobClass:
    """Return all classes seen as one: rates add up, service times are a mixture.

    Examples
    --------
    >>> both = aggregate([JobClass("a", 1.0, 1.0), JobClass("b", 1.0, 3.0)])
    >>> both.arrivals_per_s, both.service_mean_s, both.service_scv
    (2.0, 2.0, 1.5)
    """
    if not classes:
        raise ParameterError("no classes were given; name at least one.")
    rate = sum(one.arrivals_per_s for one in classes)
    mean = sum(one.arrivals_per_s * one.service_mean_s for one in classes) / rate
    second = sum(one.arrivals_per_s * one.service_second_s2 for one in classes) / rate
    return JobClass(name, rate, mean, max(0.0, second / mean**2 - 1))


def priorities(
    classes: Sequence[JobClass],
    servers: float = 1,
    *,
    preemptive: bool = False,
    method: str = "whitt",
) -> PriorityAnswer:
    """Return the wait of each class when earlier classes go first.

    Parameters
    ----------
    classes : sequence of JobClass
        Most urgent first. Within a class jobs are served in order of arrival.
    preemptive : bool
        Whether an urgent job interrupts a lesser one, which later resumes where it was.
    method : {"whitt", "kimura", "allen-cunneen"}
        M/G/c approximation that scales one server to several.

    Examples
    --------
    >>> urgent = JobClass("urgent", 0.2, 1.0)
    >>> batch = JobClass("batch", 0.3, 1.0)
    >>> [round(one.wait_mean_s, 4) for one in priorities([urgent, batch]).classes]
    [0.625, 1.25]
    """
    everyone = _checked(classes, servers)
    waits = (_preemptive if preemptive else _non_preemptive)(classes, servers, method)
    rows = tuple(
        ClassWait(
            name=one.name,
            arrivals_per_s=one.arrivals_per_s,
            service_mean_s=one.service_mean_s,
            utilisation=one.offered_load / one.need / servers,
            wait_mean_s=wait,
            sojourn_mean_s=wait + one.service_mean_s,
            queue_mean_jobs=one.arrivals_per_s * wait,
        )
        for one, wait in zip(classes, waits, strict=True)
    )
    rate = everyone.arrivals_per_s
    alike = len({one.service_mean_s for one in classes}) == 1 and everyone.service_scv == 1.0
    exact = servers == 1 or alike
    return PriorityAnswer(
        model=f"M/G/{servers:g} with {'preemptive' if preemptive else 'non-preemptive'} priorities",
        method=("Cobham" if not preemptive else "preemptive-resume")
        + ("" if servers == 1 else f", scaled by Bondi and Buzen ({method})"),
        servers=servers,
        preemptive=preemptive,
        utilisation=everyone.offered_load / servers,
        classes=rows,
        wait_mean_s=sum(row.queue_mean_jobs for row in rows) / rate,
        fifo_wait_mean_s=_fifo(everyone, servers, method),
        exact=exact,
        assumptions=(POISSON, INDEPENDENT, ONE_SERVER_EACH, "an interrupted job loses no work")[
            : 4 if preemptive else 3
        ],
        valid="exact" if exact else "approximation, within about 10 % for SCV up to 4",
    )


def shortest_first(
    arrivals_per_s: float, durations_s: Floats, servers: float = 1, *, classes: int = 20
) -> PriorityAnswer:
    """Return the waits by size when shorter jobs go first, without preemption.

    Jobs are cut into classes of equally many jobs by duration; more classes come closer to
    shortest-job-first proper.

    Parameters
    ----------
    durations_s : array
        Durations of past jobs, which stand for those to come.
    classes : int
        Number of size classes.

    Examples
    --------
    >>> sizes = np.array([1.0, 1.0, 1.0, 9.0])
    >>> answer = shortest_first(0.25, sizes, classes=2)
    >>> answer.wait_mean_s < answer.fifo_wait_mean_s
    True
    """
    known = np.sort(np.asarray(durations_s, float))
    if known.size == 0 or not np.isfinite(known).all() or known[0] < 0:
        raise ParameterError("durations_s needs at least one duration, none negative or missing.")
    parts = [part for part in np.array_split(known, max(1, classes)) if part.size]
    made = []
    for part in parts:
        mean = float(part.mean())
        if mean > 0:
            made.append(
                JobClass(
                    f"{part[0]:.4g} to {part[-1]:.4g} s",
                    arrivals_per_s * part.size / known.size,
                    mean,
                    float(part.var() / mean**2),
                )
            )
    return priorities(made, servers)


def _checked(classes: Sequence[JobClass], servers: float) -> JobClass:
    for one in classes:
        require_positive(arrivals_per_s=one.arrivals_per_s, service_mean_s=one.service_mean_s)
        require_scv(service_scv=one.service_scv)
    require_positive(servers=servers)
    everyone = aggregate(classes)
    refuse_unstable("priorities", everyone.offered_load, servers)
    return everyone


def _fifo(everyone: JobClass, servers: float, method: str) -> float:
    return mgc(
        everyone.arrivals_per_s,
        everyone.service_mean_s,
        servers,
        everyone.service_scv,
        method=method,
    ).wait_mean_s


def _loss_of_speed(everyone: JobClass, servers: float, method: str) -> float:
    """FIFO wait with c servers over that with one server which is c times as fast."""
    if servers == 1:
        return 1.0
    fast = mg1(everyone.arrivals_per_s, everyone.service_mean_s / servers, everyone.service_scv)
    return _fifo(everyone, servers, method) / fast.wait_mean_s


def _residual_s(classes: Sequence[JobClass], servers: float) -> float:
    """Mean work found in service on one server that is c times as fast."""
    return sum(one.arrivals_per_s * one.service_second_s2 for one in classes) / 2 / servers**2


def _used_up_to(classes: Sequence[JobClass], servers: float) -> list[float]:
    used = [one.arrivals_per_s * one.service_mean_s / servers for one in classes]
    return [0.0, *np.cumsum(used).tolist()]


def _non_preemptive(classes: Sequence[JobClass], servers: float, method: str) -> list[float]:
    scale = _loss_of_speed(aggregate(classes), servers, method)
    residual, used = _residual_s(classes, servers), _used_up_to(classes, servers)
    return [scale * residual / ((1 - before) * (1 - after)) for before, after in pairwise(used)]


def _preemptive(classes: Sequence[JobClass], servers: float, method: str) -> list[float]:
    """Scale the jobs of classes 1..k together: to them, lesser classes are not there."""
    used = _used_up_to(classes, servers)
    waits, fast_jobs, jobs_before = [], 0.0, 0.0
    for k, one in enumerate(classes, start=1):
        service = one.service_mean_s / servers
        residual = _residual_s(classes[:k], servers)
        before, after = used[k - 1], used[k]
        delay = service * before / (1 - before) + residual / ((1 - before) * (1 - after))
        fast_jobs += one.arrivals_per_s * delay
        jobs = fast_jobs * _loss_of_speed(aggregate(classes[:k]), servers, method)
        waits.append((jobs - jobs_before) / one.arrivals_per_s)
        jobs_before = jobs
    return waits
