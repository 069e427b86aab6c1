"""A trace beside theory: rates, what the formulas say, the exact waits, what fails and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from prophase.errors import InputError, ParameterError, not_among
from prophase.sim.measures.backlog_blocks import mean_wait
from prophase.sim.queueing.assumptions import Assumption, check_assumptions
from prophase.sim.queueing.exact_waits import exact_waits
from prophase.sim.queueing.ggc import ggc
from prophase.sim.queueing.mgc import mgc
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.parameter_checks import Floats, require_whole_servers
from prophase.sim.queueing.queue_answer import QueueAnswer
from prophase.sim.queueing.time_varying import fluid_backlog, offered_load, waits_over_time
from prophase.stats import Estimate

#: what a server is -> column that says how many an instance asks for
RESOURCES: dict[str, str | None] = {
    "gpus": "request_gpus",
    "cores": "request_cpu_cores",
    "jobs": None,
}


@dataclass(frozen=True)
class Customers:
    """When jobs came, how long they ran and what they took; who was left out, and why."""

    submit_s: Floats
    duration_s: Floats
    need: Floats
    left_out: Mapping[str, int]
    #: which rows of the job table they are
    rows: NDArray[np.bool_]


def customers_of(jobs: pd.DataFrame, servers: int, resource: str = "gpus") -> Customers:
    """Return the jobs that have times and ask for the resource.

    Parameters
    ----------
    jobs : DataFrame
        A job table.
    servers : int
        Size of the pool; a job that asks for more is refused by name.
    resource : {"gpus", "cores", "jobs"}
        What a server is; with "jobs" every job takes one.

    Examples
    --------
    >>> table = pd.DataFrame({"job_id": ["a", "b"], "submit_s": [0, 1], "duration_s": [5, None]})
    >>> customers_of(table, 4, "jobs").left_out
    {'without submit time or duration': 1}
    """
    if resource not in RESOURCES:
        raise ParameterError(not_among(f"resource is {resource!r}.", resource, RESOURCES))
    for column in ("submit_s", "duration_s"):
        if column not in jobs or not jobs[column].notna().any():
            raise InputError(f"this trace has no {column}, without which there is no queue.")
    timed = jobs["submit_s"].notna() & jobs["duration_s"].notna()
    need = _need(jobs, RESOURCES[resource])
    kept = timed & (need > 0)
    left_out = {
        "without submit time or duration": int((~timed).sum()),
        f"asking for no {resource}": int((timed & ~kept).sum()),
    }
    too_large = kept & (need > servers)
    if too_large.any():
        names = ", ".join(map(str, jobs.loc[too_large, "job_id"].head(3)))
        raise InputError(
            f"{int(too_large.sum()):,} jobs need more than {servers:,} {resource} at once, "
            f"up to {need[too_large].max():g}, e.g. {names}. Give at least that many servers."
        )
    return Customers(
        jobs.loc[kept, "submit_s"].to_numpy(float),
        jobs.loc[kept, "duration_s"].to_numpy(float),
        need[kept].to_numpy(float),
        {why: count for why, count in left_out.items() if count},
        kept.to_numpy(bool),
    )


def _need(jobs: pd.DataFrame, column: str | None) -> pd.Series:
    if column is None:
        return pd.Series(1.0, jobs.index)
    if column not in jobs or not jobs[column].notna().any():
        raise InputError(
            f"this trace has no {column}. Count jobs instead, one server each: --resource jobs."
        )
    asked = jobs[column].fillna(0.0).astype(float)
    return asked * jobs["instances"].fillna(1.0).astype(float) if "instances" in jobs else asked


LEAST_JOBS = 10
#: how far a formula may be from the exact mean and still count as right
_RIGHT_FACTOR = 1.5


@dataclass(frozen=True)
class TraceRow:
    """What one method says about the waits of a trace; None where it has no answer."""

    method: str
    wait_mean_s: float | None
    wait_probability: float | None
    wait_p95_s: float | None
    #: over the exact mean
    ratio: float | None
    note: str


@dataclass(frozen=True)
class TraceTheory:
    """A trace as a queue: its rates, its exact waits, the formulas beside them.

    Attributes
    ----------
    servers_per_job : float
        Servers of a job, weighted by run time; formulas see ``servers / servers_per_job``
        slots, which keeps the utilisation right.
    offered_load : float
        Rate times service time times servers per job, as formulas see it.
    load_mean, load_peak : float
        Servers busy if nobody had to wait, from the first to the last submission.
    wait_mean : Estimate
        The exact mean wait in seconds, with its interval over blocks that hold the backlog.
    """

    jobs: int
    servers: int
    arrivals_per_s: float
    arrival_scv: float
    service_mean_s: float
    service_scv: float
    servers_per_job: float
    offered_load: float
    load_mean: float
    load_peak: float
    utilisation: float
    wait_mean: Estimate
    rows: tuple[TraceRow, ...]
    assumptions: tuple[Assumption, ...]
    verdict: str
    valid: bool

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON knows them."""
        document = asdict(self)
        del document["wait_mean"]
        document["wait_mean_low_s"], document["wait_mean_high_s"] = self.wait_mean.ends()
        for name in ("rows", "assumptions"):
            document[name] = list(document[name])
        return document


def trace_theory(
    submit_s: ArrayLike,
    duration_s: ArrayLike,
    servers: int,
    *,
    need: ArrayLike | None = None,
) -> TraceTheory:
    """Return the exact waits of a trace on one pool, with the formulas and what breaks them.

    Parameters
    ----------
    submit_s, duration_s : array of shape (jobs,)
        In any order; every value known.
    servers : int
        Servers of the pool, such as GPUs.
    need : array of shape (jobs,), optional
        Servers each job takes at once; one each if not given.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> submit = np.cumsum(rng.exponential(1.0, 20_000))
    >>> theory = trace_theory(submit, rng.exponential(8.0, 20_000), 10)
    >>> [one.name for one in theory.assumptions if not one.holds]
    []
    """
    servers = require_whole_servers(servers)
    submit, duration, asked = _in_order(submit_s, duration_s, need)
    span = float(submit[-1] - submit[0])
    if span <= 0:
        raise InputError("all jobs were submitted at once, so there is no arrival rate.")
    gaps = np.diff(submit)
    rate = gaps.size / span
    arrival_scv = float(gaps.var() / gaps.mean() ** 2)
    service = float(duration.mean())
    if service <= 0:
        raise InputError("every duration is 0, so nothing is ever served.")
    service_scv = float(duration.var() / service**2)
    per_job = float((duration * asked).mean() / service)
    plain = bool((asked == 1).all())
    waits = exact_waits(submit, duration, servers, need=None if plain else asked)
    checked, load_mean, load_peak = check_assumptions(submit, duration, asked, servers)
    exact = TraceRow(
        "exact, strictly first come first served",
        float(waits.mean()),
        float((waits > 0).mean()),
        float(np.quantile(waits, 0.95)),
        1.0,
        "every job of the trace in its turn; starts empty",
    )
    slots = servers / per_job
    formulas = [
        *_stationary(rate, service, slots, arrival_scv, service_scv),
        _over_time(submit, duration, slots),
    ]
    rows = (exact, *(_compared(row, float(waits.mean())) for row in formulas))
    valid, verdict = _verdict(rows, checked)
    return TraceTheory(
        jobs=int(submit.size),
        servers=servers,
        arrivals_per_s=rate,
        arrival_scv=arrival_scv,
        service_mean_s=service,
        service_scv=service_scv,
        servers_per_job=per_job,
        offered_load=rate * service * per_job,
        load_mean=load_mean,
        load_peak=load_peak,
        utilisation=rate * service * per_job / servers,
        wait_mean=mean_wait(submit, duration * asked, waits),
        rows=rows,
        assumptions=checked,
        verdict=verdict,
        valid=valid,
    )


def _in_order(
    submit_s: ArrayLike, duration_s: ArrayLike, need: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    submit = np.asarray(submit_s, np.float64)
    if submit.size < LEAST_JOBS:
        raise InputError(f"{submit.size} jobs are too few for a rate; {LEAST_JOBS} are needed.")
    duration = np.asarray(duration_s, np.float64)
    asked = np.ones(submit.size) if need is None else np.asarray(need, np.float64)
    order = np.argsort(submit, kind="stable")
    return submit[order], duration[order], asked[order]


def _stationary(
    rate: float, service: float, slots: float, arrival_scv: float, service_scv: float
) -> list[TraceRow]:
    """Return what formulas for a steady state say, or that there is none."""
    if rate * service >= slots:
        note = "no steady state: the mean load exceeds the servers"
        names = ("M/M/c (Erlang C)", "M/G/c (Whitt)", "M/G/c (Kimura)", "G/G/c (Allen-Cunneen)")
        return [TraceRow(name, None, None, None, None, note) for name in names]

    def general(method: str) -> QueueAnswer:
        return ggc(
            rate,
            service,
            slots,
            arrival_scv=arrival_scv,
            service_scv=service_scv,
            method=method,
        )

    poisson, renewal = "were arrivals Poisson", "were gaps between arrivals independent"
    answers = [
        ("M/M/c (Erlang C)", mmc(rate, service, slots), poisson + " and service exponential"),
        ("M/G/c (Whitt)", mgc(rate, service, slots, service_scv), poisson),
        ("M/G/c (Kimura)", mgc(rate, service, slots, service_scv, method="kimura"), poisson),
        ("G/G/c (Allen-Cunneen)", general("allen-cunneen"), renewal),
        ("G/G/c (Whitt)", general("whitt"), renewal),
    ]
    return [
        TraceRow(name, one.wait_mean_s, one.wait_probability, one.wait_quantile_s(0.95), None, note)
        for name, one, note in answers
    ]


def _over_time(submit: Floats, duration: Floats, slots: float) -> TraceRow:
    """Return the waits by MOL where the load is below the servers, by a fluid where not."""
    span = float(submit[-1] - submit[0])
    bin_s = next((w for w in (60.0, 600.0, 3600.0) if span / w <= 20_000), span / 20_000)
    bins = int(span // bin_s) + 1
    place = np.minimum(((submit - submit[0]) // bin_s).astype(np.int64), bins - 1)
    rate = np.bincount(place, minlength=bins) / bin_s
    service = float(duration.mean())
    wait = np.nan_to_num(_mol_waits(rate, bin_s, slots, duration))
    fluid = fluid_backlog(rate, bin_s, slots, service).wait_s
    each = np.maximum(wait, fluid)[place]
    return TraceRow(
        "M(t)/G/c (offered load over time, fluid backlog)",
        float(each.mean()),
        None,
        float(np.quantile(each, 0.95)),
        None,
        f"rate by {bin_s:g} s; overload as a fluid with the mean service time",
    )


def _mol_waits(rate: Floats, bin_s: float, slots: float, duration: Floats) -> Floats:
    """Erlang C is asked once per distinct load: rounding to 0.1 % keeps long traces quick."""
    load = offered_load(rate, bin_s, durations_s=duration).offered_load
    steps = np.exp(np.round(np.log(np.maximum(load, 1e-9)) * 1000) / 1000)
    distinct, back = np.unique(steps, return_inverse=True)
    service = float(duration.mean())
    found = waits_over_time(
        distinct / service, bin_s, slots, view="psa", service_mean_s=service
    ).wait_mean_s
    result: Floats = found[back]
    return result


def _compared(row: TraceRow, exact_s: float) -> TraceRow:
    ratio = row.wait_mean_s / exact_s if row.wait_mean_s is not None and exact_s > 0 else None
    return TraceRow(
        row.method, row.wait_mean_s, row.wait_probability, row.wait_p95_s, ratio, row.note
    )


def _verdict(rows: Sequence[TraceRow], checked: Sequence[Assumption]) -> tuple[bool, str]:
    broken = [one.name for one in checked if not one.holds]
    right = [
        row.method
        for row in rows[1:]
        if row.ratio is not None and 1 / _RIGHT_FACTOR <= row.ratio <= _RIGHT_FACTOR
    ]
    if rows[0].wait_mean_s == 0:
        return not broken, "nobody waits, so no formula can be judged."
    near = ", ".join(right) or "none"
    if broken:
        return False, (
            f"not valid: {', '.join(broken)} fail. Formulas within a factor of {_RIGHT_FACTOR} "
            f"of the exact mean: {near}. Trust the exact row."
        )
    return True, f"valid. Formulas within a factor of {_RIGHT_FACTOR} of the exact mean: {near}."
