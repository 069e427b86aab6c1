"""MLaaS in the Wild: its numbers for the trace at hand, and its replays run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from prophase.json_types import JsonObject
from prophase.papers.claims import claim_row, verdict_on
from prophase.papers.findings.finding import PublishedFigure
from prophase.papers.findings.finding_catalogue import published_findings
from prophase.papers.findings.waiting_times import high_end
from prophase.papers.stand_ins import answered_elsewhere, beside, philly_runs
from prophase.profile.predict.methods import predictor_named
from prophase.sim import Cluster, Schedule, Workload, simulate
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import Trace, open_trace

Rows = list[dict[str, object]]
Progress = Callable[[int, int], None]
SHORTEST = "Shortest job first with predicted run times"
PACKING = "Reserving and packing before load balancing"
_REPLAYED = ("shortest_first", "reserve_and_pack", "pai_simulator")
#: a trace with so many instances is the published one, and its numbers have to come out
_WHOLE = 1_000_000
#: the same number: within a tenth; the same in kind: within a factor of 1.5, or for percentages
#: within 10 points and a factor of 3
_SAME, _KIND, _POINTS, _SMALL = 0.1, 1.5, 10.0, 3.0
_SYNTHETIC = (6_000, 7.0)
#: what the list of nodes says, without any job
_OF_NODES = ("GPUs of all nodes", "nodes", "cores per GPU that nodes of 8 GPUs offer")
#: what a smaller trace has less of
_GROWS = (
    *_OF_NODES[:2], "tasks: roles of each job, or jobs without roles", "instances of all tasks",
    "users", "GPUs saved at that time",
)  # fmt: skip
#: where the synthetic trace does not follow the published numbers, and why
_MADE_OTHERWISE = {
    "mostly_waiting": "waits are drawn by type of GPU, whatever the run time",
    "sharing_waits": "waits are drawn by type of GPU, whatever the share",
    "waits_by_type": "waits are drawn per job and counted per instance, so gangs weigh more",
    "sharing_saves": "how many shares run beside whole GPUs is not published, and not aimed at",
    "recurring": "repeated runs scatter as the 999 public rows do, of which 62 % are within 25 %",
    "cpu_per_gpu": "requests are like those of the 999 public rows, where it is 7.3 cores",
    "allocation": "where jobs ran is drawn, not the result of a scheduler",
}
#: nodes that are left in the second replay, to show what load does
_FEWER = 0.8
#: the seed's README: objective -> command
OBJECTIVES = {
    "Model construction: queueing theory": "prophase queueing trace WS --servers 600",
    "Model construction: discrete-event simulation": "prophase simulate WS",
    "Validation on trace data": "prophase validate WS",
    "Bottlenecks: where waiting comes from": "prophase why WS --page why.html",
    "Job classes, arrivals, run times": "prophase describe WS --page trace.html",
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
    report = progress or (lambda done, total: None)
    report(0, 4)
    made = make_pai(_SYNTHETIC[0], days=_SYNTHETIC[1])
    trace = made if data is None else _opened(data)
    rows = list(_numbers(trace, answered_elsewhere(data)))
    report(1, 4)
    rows += _on_philly(beside(data, "pai_sim"))
    report(2, 4)
    rows += replay_rows(trace if _can_replay(trace) else made)
    report(4, 4)
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
        if rows and rows[0].parent != data:
            return open_trace(rows[0].parent)
    return open_trace(data)


def _can_replay(trace: Trace) -> bool:
    wanted = {"submit_s", "duration_s", "request_gpus"}
    return "nodes" in trace.tables and wanted <= set(trace.jobs.dropna(axis=1, how="all"))


def _numbers(
    trace: Trace, elsewhere: Mapping[str, tuple[PublishedFigure, str]]
) -> Iterator[JsonObject]:
    instances = float(trace.jobs.get("instances", np.ones(len(trace.jobs))).sum())
    real = trace.source in ("pai2020", "pai")
    whole = real and instances >= _WHOLE
    for finding in published_findings(trace):
        if finding.key in _REPLAYED:
            continue
        for figure in finding.figures:
            reason, of_nodes = figure.reason, figure.what in _OF_NODES
            # a sample fills next to nothing of the nodes it ran on
            nothing = real and not whole and finding.key == "allocation"
            verdict = _verdict(figure, whole=whole or (real and of_nodes))
            if figure.here is None and figure.what in elsewhere:
                figure, reason = elsewhere[figure.what]
                verdict = _verdict(figure, whole=False)
            elif not whole and not of_nodes and real and verdict == "differs in kind":
                # what a sample lacks is no evidence against the whole
                verdict = "needs data"
                reason = f"ours is of {instances:,.0f} instances of named workloads, not of all"
            elif not whole and not (real and of_nodes) and figure.what in _GROWS:
                verdict = "needs data"
                reason = reason or "grows with the cluster: only the whole trace can show it"
            elif verdict == "differs in kind" and not real:
                reason = _MADE_OTHERWISE.get(finding.key, "")
            yield claim_row(
                finding.title,
                figure.what,
                figure.published_words,
                "" if figure.here is None or nothing else figure.here_words,
                verdict,
                reason,
            )


def _verdict(figure: PublishedFigure, *, whole: bool) -> str:
    if figure.here is None or not figure.published:
        return "needs data" if figure.published else "ours"
    low, high = min(figure.published), max(figure.published)
    if figure.bound == "over":
        near = figure.here >= low * (1 - _SAME)
    elif whole:
        near = low * (1 - _SAME) <= figure.here <= high * (1 + _SAME)
    elif figure.unit == "%":
        near = low - _POINTS <= figure.here <= high + _POINTS
        # ten points are much of a small share
        near &= low / _SMALL <= figure.here <= high * _SMALL
    else:
        near = low / _KIND <= figure.here <= high * _KIND
    return verdict_on(near, real=whole)


def _on_philly(folder: Path | None) -> Rows:
    """Return what orders by predicted run time save on real jobs of another cluster."""
    runs = philly_runs(folder)
    if not runs:
        return []
    fifo = runs["fifo"].mean_jct_s
    saved = {order: _saving(fifo, run.mean_jct_s) for order, run in runs.items()}
    row = _saved(
        SHORTEST,
        "mean completion time saved against first come, first served, on real jobs",
        (63.0, 77.0),
        saved["group_gpu_dur"],
        "20,000 jobs of Microsoft's Philly on 600 GPUs, by the past of group and GPU; with the "
        f"true run times {saved['shortest']:.0f} %, by the past of the user "
        f"{saved['user_dur']:.0f} %",
    )
    return [row]


def replay_rows(trace: Trace) -> Rows:
    """Replay first come, first served, shortest predicted, and both ways of placing jobs."""
    jobs = trace.jobs
    # every job is answered from what had ended before it was submitted
    answers = predictor_named("backoff-median").fit(jobs).predict(jobs, as_of="submit")["value"]
    jobs = jobs.assign(predicted_s=answers.fillna(answers.median()))
    workload = Workload.from_jobs(jobs)

    def run(nodes: pd.DataFrame = trace.nodes, **policy: Any) -> Schedule:
        return simulate(workload, Cluster.from_nodes(nodes), leave_out_unfit=True, **policy)

    fifo, predicted = run(order="fifo"), run(order="column:predicted_s")
    known = _saving(_mean_jct(fifo), _mean_jct(run(order="shortest")))
    wait = fifo.metrics()["mean_wait_s"]
    fewer = trace.nodes.sample(frac=_FEWER, random_state=0).sort_index().reset_index(drop=True)
    crowded = _saving(
        _mean_jct(run(fewer, order="fifo")), _mean_jct(run(fewer, order="column:predicted_s"))
    )
    spread, packed = run(place="worst_fit"), run(place="reserve_and_pack")
    data = f"replay of {len(jobs):,} {trace.source} jobs"
    rows = [
        _saved(
            SHORTEST,
            "mean completion time saved against first come, first served",
            (63.0, 77.0),
            _saving(_mean_jct(fifo), _mean_jct(predicted)),
            f"{data}. Of {_mean_jct(fifo):,.0f} s they wait {wait:,.0f} s, so that no order can "
            f"save more than {100 * wait / _mean_jct(fifo):.0f} %, and true run times save "
            f"{known:.0f} %; with {100 * (1 - _FEWER):.0f} % fewer nodes predictions save "
            f"{crowded:.0f} %",
        )
    ]
    kept = fifo.workload.jobs
    strong = high_end(kept["gpu_type"]) == 1 if "gpu_type" in kept else np.zeros(len(kept), bool)
    for claim, printed, chosen in (
        ("mean wait saved", 45.0, np.ones(len(kept), bool)),
        ("mean wait for V100 saved", 68.0, strong),
    ):
        if chosen.any():
            before, after = (float(np.nanmean(one.wait_s[chosen])) for one in (spread, packed))
            text = f"{data}, {int(chosen.sum()):,} of which count here: {before:,.0f} s before"
            saved = _saving(before, after)
            rows.append(_saved(PACKING, claim, (printed, printed), saved, text))
    return rows


def _mean_jct(schedule: Schedule) -> float:
    return float(schedule.metrics()["mean_jct_s"])


def _saving(before: float, after: float) -> float:
    return 100 * (1 - after / before) if before > 0 else 0.0


def _saved(
    item: str, claim: str, published: tuple[float, float], ours: float, data: str
) -> dict[str, object]:
    low, high = published
    near = low - _POINTS <= ours <= high + _POINTS
    return claim_row(
        item,
        claim,
        f"{low:.0f} % to {high:.0f} %" if high > low else f"{low:.0f} %",
        f"{ours:.0f} %",
        verdict_on(near, real=False),
        data,
    )


def objectives() -> Rows:
    """Return the seed's objectives with the command that meets each.

    Examples
    --------
    >>> objectives()[1]["command"]
    'prophase simulate WS'
    """
    return [{"objective": words, "command": command} for words, command in OBJECTIVES.items()]
