"""A question to queueing theory and its answer, for the command line and the service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from prophase import units
from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted, listed
from prophase.result import Result
from prophase.sim.queueing.models import MODELS
from prophase.sim.results import cluster_of

if TYPE_CHECKING:
    from prophase.sim.cluster import Cluster
    from prophase.sim.queueing.mmc import LossAnswer
    from prophase.sim.queueing.priorities import JobClass
    from prophase.sim.queueing.queue_answer import QueueAnswer
    from prophase.trace.trace_tables import Trace

T = TypeVar("T")
_QUEUES = ("skip", "strict", "easy", "conservative")
#: models beside those of one queue
_MORE = {
    "priorities": "classes that go before others: wait per class (--class, --preemptive)",
    "gangs": "jobs that take several servers at once: how much load fits (--class)",
    "staffing": "the square-root rule: load plus a safety of beta square roots (--goal)",
    "pools": "a trace on a cluster of several GPU types and gangs, a pool of each type (--cluster)",
    "trace": "a trace on one pool: the exact waits, the formulas beside them, what fails",
}


@dataclass(frozen=True)
class QueueQuestion:
    """A model and what it needs, as people write it: ``45/s``, ``2h``, ``name=a,arrivals=2/h``."""

    model: str
    arrivals: str | None = None
    service: str | None = None
    servers: int | None = None
    arrival_scv: float | None = None
    service_scv: float | None = None
    approximation: str | None = None
    capacity: int | None = None
    goal: str | None = None
    over: Sequence[str] = ()
    classes: Sequence[str] = ()
    preemptive: bool = False
    #: trace: a server is one of these
    resource: str = "gpus"
    seed: int = 0
    #: pools: the cluster, as text; the trace's nodes if not given
    cluster: str | None = None
    queue: str = "skip"


def answer_question(
    asked: QueueQuestion,
    trace: Callable[[], Trace],
    cluster: Callable[[Trace, str | None], Cluster] | None = None,
) -> Result:
    """Return what theory says.

    Parameters
    ----------
    trace : function
        Opens the trace; called for the models ``trace`` and ``pools`` alone.
    cluster : function, optional
        Returns the nodes that the question names; they are in short, or the trace's, if not given.

    Examples
    --------
    >>> question = QueueQuestion("mmc", arrivals="1/s", service="1s", servers=2)
    >>> round(answer_question(question, dict).rows[0]["wait_mean_s"], 3)
    0.333
    """
    model, servers, goal = asked.model, asked.servers, asked.goal
    if model == "list":
        titles = {name: one.title for name, one in MODELS.items()} | _MORE
        rows: list[JsonObject] = [{"model": name, "what": title} for name, title in titles.items()]
        return Result.of_rows("queueing", rows)
    if model == "trace":
        pool = _given(servers, "--servers")
        return _trace(trace(), pool, asked.resource)
    if model == "pools":
        opened = trace()
        nodes = (
            cluster(opened, asked.cluster)
            if cluster is not None
            else cluster_of(opened, asked.cluster, where="trace")
        )
        return _pools(opened, nodes, asked.queue)
    if model == "staffing":
        return _staffing(asked.arrivals, asked.service, goal)
    if model in ("priorities", "gangs"):
        pool = _given(servers, "--servers")
        classes = _classes(asked.classes)
        if model == "gangs":
            return _gangs(classes, pool, asked.seed)
        return _priorities(classes, pool, asked.preemptive, asked.approximation)
    if model not in MODELS:
        known = [*MODELS, *_MORE]
        raise ParameterError(not_among(f"model {model!r} is unknown.", model, known))
    wanted: JsonObject = {
        "arrivals_per_s": _rate(asked.arrivals),
        "service_s" if model == "mdc" else "service_mean_s": _seconds(asked.service),
        "servers": servers,
        "arrival_scv": asked.arrival_scv,
        "service_scv": asked.service_scv,
        "capacity": asked.capacity,
    }
    if servers is None and goal is None and model != "mg1":
        raise ParameterError("give --servers, or a --goal to find them.")
    return _one_queue(model, wanted, asked.approximation, goal, asked.over)


def _one_queue(
    model: str,
    wanted: JsonObject,
    method: str | None,
    target: str | None,
    over: Sequence[str],
) -> Result:
    from prophase.sim.queueing.models import answer
    from prophase.sim.queueing.parsing import parse_service_target
    from prophase.sim.queueing.queue_answer import QueueAnswer

    times = [units.parse_duration(text, bare="s", where="--over") for text in over]
    methods: Sequence[str | None] = [method] if method else (MODELS[model].methods or [None])
    answers = [answer(model, target=target, method=one, **wanted) for one in methods]
    rows, documents = [], []
    for one in answers:
        tails = (
            {f"wait_over_{time:g}_s": one.wait_exceeds(time) for time in times}
            if isinstance(one, QueueAnswer)
            else {}
        )
        rows.append(_row(one) | tails)
        documents.append(finite(one.to_dict()) | tails)
    remarks = [f"{one.valid[0].upper()}{one.valid[1:]} ({one.method})." for one in answers]
    remarks.append("Assumes: " + "; ".join(answers[0].assumptions) + ".")
    if target:
        remarks.insert(0, f"The least servers with {parse_service_target(target).words()}.")
    document = {"model": model, "target": target, "answers": documents}
    return Result.of_rows("queueing-one-queue", rows, values=document, notes=remarks)


def _row(answer: QueueAnswer | LossAnswer) -> JsonObject:
    from prophase.sim.queueing.mmc import LossAnswer

    row: JsonObject = {"model": answer.model, "method": answer.method}
    row |= {"servers": int(answer.servers), "utilisation": answer.utilisation}
    if isinstance(answer, LossAnswer):
        row |= {"blocked_share": answer.blocked_share, "accepted_per_s": answer.accepted_per_s}
    row |= {"wait_probability": answer.wait_probability, "wait_mean_s": answer.wait_mean_s}
    if not isinstance(answer, LossAnswer):
        row |= {f"wait_p{p}_s": answer.wait_quantile_s(p / 100) for p in (50, 95, 99)}
    return row | {"queue_mean_jobs": answer.queue_mean_jobs}


def _priorities(
    classes: list[JobClass],
    servers: int,
    preemptive: bool,
    method: str | None,
) -> Result:
    from prophase.sim.queueing.priorities import priorities

    found = priorities(classes, servers, preemptive=preemptive, method=method or "whitt")
    rows = [
        {
            "class": one.name,
            "arrivals_per_s": one.arrivals_per_s,
            "utilisation": one.utilisation,
            "wait_mean_s": one.wait_mean_s,
            "sojourn_mean_s": one.sojourn_mean_s,
            "queue_mean_jobs": one.queue_mean_jobs,
        }
        for one in found.classes
    ]
    remarks = [
        f"All jobs: mean wait {units.cell(found.wait_mean_s)} s; "
        f"first come, first served: {units.cell(found.fifo_wait_mean_s)} s.",
        f"{found.method}: {found.valid}. Assumes: {'; '.join(found.assumptions)}.",
    ]
    return Result.of_rows(
        "queueing-priorities", rows, values=finite(found.to_dict()), notes=remarks
    )


def _gangs(classes: list[JobClass], servers: int, seed: int) -> Result:
    from dataclasses import asdict

    from prophase.sim.queueing.gangs import balanced_split, server_filling, stability_limit

    limit = stability_limit(classes, servers, random_state=seed)
    split = balanced_split(classes, servers)
    rows = [
        {
            "class": part.name,
            "need": part.need,
            "offered_load": part.offered_slots * part.need,
            "reserved_slots": part.slots,
            "overflow_share": part.overflow_share,
        }
        for part in split.parts
    ]
    filled = server_filling(classes, servers) if limit.offered_utilisation < 1 else None
    remarks = [
        f"First come, first served carries a utilisation of {limit.utilisation_limit:.4f} at most "
        f"({limit.method}); this load asks for {limit.offered_utilisation:.4f}: "
        + ("it keeps up." if limit.stable else "the queue grows without end."),
        f"Without idle servers (ServerFilling) mean wait is {units.cell(filled.wait_mean_s)} s."
        if filled
        else "No policy keeps up with this load.",
        f"Reserved slots per class: {100 * split.overflow_share:.3g} % of jobs find theirs taken.",
    ]
    document = {
        "stability": finite(limit.to_dict()),
        "server_filling": finite(asdict(filled)) if filled else None,
        "balanced_split": finite(asdict(split)),
    }
    return Result.of_rows("queueing-gangs", rows, values=document, notes=remarks)


def _staffing(
    arrivals: str | None,
    service: str | None,
    target: str | None,
) -> Result:
    from prophase.sim.queueing.parsing import parse_service_target
    from prophase.sim.queueing.staffing import square_root_staffing

    wanted = parse_service_target(_given(target, '--goal "P(wait > 0 s) < 20%"'))
    if wanted.kind != "tail" or wanted.at != 0:
        raise ParameterError(
            "the square-root rule aims at the share of jobs that wait at all: "
            '--goal "P(wait > 0 s) < 20%". For other targets use the model mmc.'
        )
    plan = square_root_staffing(_rate(arrivals) * _seconds(service), wait_probability=wanted.limit)
    document = finite(plan.to_dict())
    hidden = ("assumptions", "valid")
    rows = [{key: value for key, value in document.items() if key not in hidden}]
    return Result.of_rows("queueing-staffing", rows, values=document, notes=[f"{plan.valid}."])


def _trace(trace: Trace, servers: int, resource: str) -> Result:
    from prophase.sim.queueing.trace_theory import customers_of, trace_theory

    taken = customers_of(trace.jobs, servers, resource)
    found = trace_theory(taken.submit_s, taken.duration_s, servers, need=taken.need)
    document = finite(found.to_dict()) | {"resource": resource, "left_out": dict(taken.left_out)}
    document["data_hash"] = trace.data_hash
    rows = [{k: v for k, v in row.items() if k != "note"} for row in document["rows"]]
    remarks = [
        f"{counted(found.jobs, 'job')}, {found.arrivals_per_s * 3600:.4g} per hour, "
        f"mean {units.cell(found.service_mean_s)} s; utilisation {found.utilisation:.3g} of "
        f"{servers:,} {resource}.",
        *(f"{'holds' if a.holds else 'FAILS'}: {a.name}: {a.words}." for a in found.assumptions),
        f"Verdict: {found.verdict}",
    ]
    if found.utilisation > 1:
        remarks.insert(
            0,
            f"Overloaded: jobs ask for {found.utilisation:.3g} times the {servers:,} {resource}, "
            "so waits grow as long as jobs come, and their mean tells how long the trace is. Only "
            f"more than {found.offered_load:,.0f} {resource} hold this load.",
        )
    elif found.wait_mean.known:
        low, high = units.cell(found.wait_mean.low), units.cell(found.wait_mean.high)
        said = (
            f"Exact mean wait, 95 % interval over blocks that hold the backlog: {low} to {high} s."
        )
        remarks.insert(1, said)
    remarks += [
        f"Left out: {counted(count, 'job')} {why}." for why, count in taken.left_out.items()
    ]
    return Result.of_rows("queueing-trace", rows, values=document, notes=remarks)


def _pools(trace: Trace, cluster: Cluster, queue: str) -> Result:
    from prophase.sim.cluster import UNNAMED
    from prophase.sim.queueing.typed_pools import typed_pools
    from prophase.sim.workload import Workload

    if queue not in _QUEUES:
        raise ParameterError(not_among(f"queue {queue!r} is unknown.", queue, _QUEUES))
    workload = Workload.from_jobs(trace.jobs)
    found = typed_pools(workload, cluster, queue=queue)
    document = finite(found.to_dict()) | {"queue": queue, "data_hash": trace.data_hash}
    shown = ("wait_mean_s", "wait_p95_s", "formula_wait_s")
    rows = [
        {name: value for name, value in pool.items() if name not in shown}
        | {
            name.removesuffix("_s"): None if pool[name] is None else units.duration(pool[name])
            for name in shown
        }
        for pool in document["pools"]
    ]
    beyond = [pool["gpu_type"] for pool in document["pools"] if (pool["load"] or 0) > 1]
    typed = "GPUs" if beyond == [UNNAMED] else f"{listed(beyond)} GPUs"
    over = (
        f"Overloaded: jobs ask for more {typed} than there are, so waits grow as long as jobs "
        "come, and their mean tells how long the trace is."
    )
    remarks = [
        *([over] if beyond else ()),
        f"All GPU jobs: mean wait {units.duration(document['wait_mean_s'])}, 95 % wait less than "
        f"{units.duration(document['wait_p95_s'])}.",
        found.verdict(),
        "Where small jobs overtake gangs, waits are up to twice as short. formula_wait: M/G/c, "
        "where arrivals are steady and Poisson. prophase simulate replays nodes, cores and memory.",
        *(f"Left out: {counted(count, 'job')}: {why}." for why, count in workload.left_out.items()),
    ]
    return Result.of_rows("queueing-pools", rows, values=document, notes=remarks)


def _classes(texts: Sequence[str]) -> list[JobClass]:
    from prophase.sim.queueing.parsing import parse_class

    if not texts:
        raise ParameterError(
            "give classes, the most urgent first: --class name=a,arrivals=2/h,service=30min"
        )
    return [parse_class(text) for text in texts]


def _rate(text: str | None) -> float:
    from prophase.sim.queueing.parsing import parse_rate

    return parse_rate(_given(text, "--arrivals 45/s"), name="--arrivals")


def _seconds(text: str | None) -> float:
    return units.parse_duration(_given(text, "--service 1s"), bare="s", where="--service")


def _given(value: T | None, option: str) -> T:
    if value is None:
        raise ParameterError(f"this model needs {option}.")
    return value
