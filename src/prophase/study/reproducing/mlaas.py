"""MLaaS in the Wild: its numbers for the trace at hand, and its replays run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from prophase.profile.predict.methods import predictor_named
from prophase.sim import Cluster, Schedule, Workload, simulate
from prophase.trace.findings import Figure, find_out
from prophase.trace.loading import Trace, open_trace
from prophase.trace.synth import make_pai

Rows = list[dict[str, Any]]
Progress = Callable[[int, int], None]
_REPLAYED = ("shortest_first", "reserve_and_pack", "pai_simulator")
#: a trace with so many instances is the published one, and its numbers have to come out
_WHOLE = 1_000_000
#: the same number: within a tenth; the same in kind: within a factor of 1.5, or 10 points of %
_SAME, _KIND, _POINTS = 0.1, 1.5, 10.0
_SYNTHETIC = (6_000, 7.0)
#: the seed's README: objective -> command
OBJECTIVES = {
    "Model construction: queueing theory": "prophase queueing trace WS --servers 600",
    "Model construction: discrete-event simulation": "prophase simulate WS",
    "Validation on trace data": "prophase validate WS",
    "Bottlenecks: where waiting comes from": "prophase why WS --page why.html",
    "Job classes, arrivals, run times": "prophase describe WS --html trace.html",
    "Underutilisation, CPU-GPU imbalance": "prophase why WS --only-shares",
    "GPU sharing, packing, autoscaling": "prophase sweep plan.toml",
    "Predictive scheduling": "prophase schedule-study WS",
}


def mlaas_rows(data: Path | None = None, *, progress: Progress | None = None) -> Rows:
    """Return every number of the study beside that of the trace, and of replays.

    Parameters
    ----------
    data : path, optional
        A workspace or folder with PAI's tables or rows; a synthetic trace if not given.
    """
    told = progress or (lambda done, total: None)
    told(0, 3)
    made = make_pai(_SYNTHETIC[0], days=_SYNTHETIC[1])
    trace = made if data is None else _opened(data)
    rows = list(_numbers(trace))
    told(1, 3)
    replayed = trace if _can_replay(trace) else made
    rows += _replays(replayed)
    told(3, 3)
    return rows


def origin(data: Path | None) -> tuple[str, int, str]:
    """Return what the numbers are of, in words, how many rows, and the data's hash."""
    trace = make_pai(_SYNTHETIC[0], days=_SYNTHETIC[1]) if data is None else _opened(data)
    words = "synthetic PAI-like jobs" if data is None else f"jobs of {trace.source}"
    return words, len(trace.jobs), trace.data_hash


def _opened(data: Path) -> Trace:
    """Open a workspace, PAI's tables, or the authors' sample of PAI's rows."""
    if data.is_dir() and not (data / "prophase.toml").is_file():
        rows = sorted(data.rglob("*sampled*data*.csv*"))
        if rows:
            return open_trace(rows[0], tables=["jobs"])
    return open_trace(data)


def _can_replay(trace: Trace) -> bool:
    wanted = {"submit_s", "duration_s", "request_gpus"}
    return "nodes" in trace.tables and wanted <= set(trace.jobs.dropna(axis=1, how="all"))


def _numbers(trace: Trace) -> Iterator[dict[str, Any]]:
    instances = float(trace.jobs.get("instances", np.ones(len(trace.jobs))).sum())
    real = trace.source in ("pai2020", "pai")
    whole = real and instances >= _WHOLE
    for finding in find_out(trace):
        if finding.key in _REPLAYED:
            continue
        for figure in finding.figures:
            verdict = _verdict(figure, whole=whole)
            reason = figure.reason
            # what a sample lacks is no evidence against the whole
            if not whole and (finding.key == "scale" or (real and verdict == "differs in kind")):
                verdict, reason = (
                    "needs data",
                    reason or f"{instances:,.0f} instances decide little",
                )
            yield {
                "item": finding.title,
                "claim": figure.what,
                "published": figure.published_words,
                "ours": figure.here_words if figure.here is not None else "",
                "verdict": verdict,
                "reason": reason,
            }


def _verdict(figure: Figure, *, whole: bool) -> str:
    if figure.here is None or not figure.published:
        return "needs data" if figure.published else "ours"
    low, high = min(figure.published), max(figure.published)
    if figure.bound == "over":
        near = figure.here >= low * (1 - _SAME)
    elif whole:
        near = low * (1 - _SAME) <= figure.here <= high * (1 + _SAME)
    elif figure.unit == "%":
        near = low - _POINTS <= figure.here <= high + _POINTS
    else:
        near = low / _KIND <= figure.here <= high * _KIND
    if whole:
        return "reproduced" if near else "contradicted"
    return "in kind" if near else "differs in kind"


def _replays(trace: Trace) -> Rows:
    """Replay first come, first served, shortest predicted, and both ways of placing jobs."""
    jobs = trace.jobs
    # every job is answered from what had ended before it was submitted
    answers = predictor_named("backoff-median").fit(jobs).predict(jobs, as_of="submit")["value"]
    jobs = jobs.assign(predicted_s=answers.fillna(answers.median()))
    workload, cluster = Workload.from_jobs(jobs), Cluster.from_nodes(trace.nodes)

    def run(**policy: Any) -> Schedule:
        return simulate(workload, cluster, leave_out_unfit=True, **policy)

    fifo, predicted = run(order="fifo"), run(order="column:predicted_s")
    known = run(order="shortest").metrics()["mean_jct_s"]
    spread, packed = (
        run(place="worst_fit"),
        run(place="reserve_and_pack"),
    )
    return [
        _saved(
            "Shortest job first with predicted run times",
            "mean completion time saved against first come, first served",
            (63.0, 77.0),
            fifo.metrics()["mean_jct_s"],
            predicted.metrics()["mean_jct_s"],
            f"replay of {len(jobs):,} {trace.source} jobs; with the true run times "
            f"{_saving(fifo.metrics()['mean_jct_s'], known):.0f} %: the most there is to save",
        ),
        _saved(
            "Reserving and packing before load balancing",
            "mean wait saved",
            (45.0, 45.0),
            spread.metrics()["mean_wait_s"],
            packed.metrics()["mean_wait_s"],
            f"replay of {len(jobs):,} {trace.source} jobs",
        ),
    ]


def _saving(before: float, after: float) -> float:
    return 100 * (1 - after / before) if before > 0 else 0.0


def _saved(
    item: str, claim: str, published: tuple[float, float], before: float, after: float, data: str
) -> dict[str, Any]:
    low, high = published
    ours = _saving(before, after)
    near = low - _POINTS <= ours <= high + _POINTS
    return {
        "item": item,
        "claim": claim,
        "published": f"{low:.0f} % to {high:.0f} %" if high > low else f"{low:.0f} %",
        "ours": f"{ours:.0f} %",
        "verdict": "in kind" if near else "differs in kind",
        "reason": data,
    }


def objectives() -> Rows:
    """Return the seed's objectives with the command that meets each.

    Examples
    --------
    >>> objectives()[1]["command"]
    'prophase simulate WS'
    """
    return [{"objective": words, "command": command} for words, command in OBJECTIVES.items()]
