"""A thousand random schedules, each told by a checksum: small clusters, all rules, both loops."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

COUNT = 1000
SPEEDS = str(Path(__file__).parent.parent / "tests/golden/house/inputs/speeds.csv")
STATIC = ["fifo", "shortest", "smallest_gpu_time", "priority", "earliest_deadline", "column:key"]
MOVING = [
    "shortest_remaining",
    "least_attained",
    "least_attained_gpu",
    "tiresias",
    "fair_share",
    "dominant_share",
    "multifactor",
    "response_ratio",
    "qssf",
]
PLACES = [
    "best_fit",
    "consolidate",
    "dot_product",
    "fgd",
    "first_fit",
    "gpu_clustering",
    "gpu_packing",
    "random",
    "reserve_and_pack",
    "slurm_tree",
    "worst_fit",
]
USERS, QUEUES, KINDS, TYPES = ["ann", "bob", "cyd"], ["p", "q"], ["x", "y"], ["A", "B"]
SHARES = pd.DataFrame(
    {
        "account": ["lab", None, "lab", "lab"],
        "user": [None, "ann", "bob", "cyd"],
        "share": [1.9, 1.0, 1.37, 0.71],
    }
)


def schedules(count: int = COUNT) -> dict[str, dict[str, Any]]:
    """Return what each schedule was made by, a few sums, and its checksum."""
    return {f"{number:04d}": _schedule(number) for number in range(count)}


def _schedule(number: int) -> dict[str, Any]:
    from prophase.sim import Cluster, Workload, simulate

    rng = np.random.default_rng([16, number])
    nodes, jobs = _nodes(rng), _jobs(rng)
    settings = _static(rng) if number % 2 else _dynamic(rng, nodes)
    made_by = ", ".join(f"{key}={_word(value)}" for key, value in settings.items())
    try:
        schedule = simulate(
            Workload.from_jobs(jobs),
            Cluster.from_nodes(nodes),
            leave_out_unfit=True,
            seed=number,
            **settings,
        )
    except Exception as refusal:
        return {"made_by": made_by, "refused": str(refusal)}
    attempts = schedule.attempt_table
    return {
        "made_by": made_by,
        "jobs": len(schedule.start_s),
        "attempts": len(attempts),
        "mean_start_s": _rounded(np.nanmean(schedule.start_s)),
        "last_end_s": _rounded(np.nanmax(schedule.end_s)),
        "checksum": _checksum(schedule, attempts),
    }


def _checksum(schedule: Any, attempts: pd.DataFrame) -> str:
    """Hash starts and ends of jobs, and when, where and how each attempt ran."""
    found = hashlib.sha256()
    for times in (schedule.start_s, schedule.end_s, attempts["start_s"], attempts["end_s"]):
        # adding 0 turns -0 into 0
        found.update((np.round(np.asarray(times, float), 9) + 0.0).tobytes())
    for column in ("job_id", "node_id", "gpu_ids", "outcome"):
        found.update("\n".join(attempts[column].astype(str)).encode())
    return found.hexdigest()[:24]


def _nodes(rng: np.random.Generator) -> pd.DataFrame:
    count = int(rng.integers(1, 9))
    nodes = {
        "node_id": [f"n{number}" for number in range(count)],
        "gpus": rng.choice([0.0, 1.0, 2.0, 4.0, 8.0], count),
        "gpu_type": rng.choice(TYPES, count),
        "cpu_cores": rng.integers(4, 33, count).astype(float),
        "memory_gib": rng.integers(8, 129, count).astype(float),
    }
    # the first takes what most jobs ask for
    nodes["gpus"][0], nodes["cpu_cores"][0], nodes["memory_gib"][0] = 8.0, 32.0, 128.0
    return pd.DataFrame(nodes)


def _jobs(rng: np.random.Generator) -> pd.DataFrame:
    count = int(rng.integers(5, 90))
    span = float(rng.choice([0.0, 600.0, 20_000.0]))
    submit, run = rng.uniform(0.0, 1.0, count) * span, rng.exponential(900.0, count) + 1.0
    if rng.random() < 0.5:
        submit, run = np.round(submit), np.round(run)
    memory = rng.integers(1, 33, count).astype(float)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{number:03d}" for number in range(count)],
            "submit_s": np.sort(submit),
            "duration_s": run,
            "time_limit_s": np.round(run * rng.choice([1.0, 1.0, 2.0, 10.0], count)),
            "deadline_s": np.round(np.sort(submit) + run * rng.uniform(1, 5, count)),
            "request_gpus": rng.choice([0.0, 0.25, 0.5, 1.0, 2.0, 4.0], count),
            "request_cpu_cores": rng.integers(0, 9, count).astype(float),
            "request_memory_gib": memory,
            # small enough for three instances after the last climb
            "memory_peak_gib": np.minimum(
                memory * rng.choice([0.3, 0.8, 1.0, 1.5, 3.0], count), 20
            ),
            "instances": rng.choice([1.0, 1.0, 1.0, 2.0, 3.0], count),
            "priority": rng.integers(0, 4, count).astype(float),
            "key": rng.integers(0, 5, count).astype(float),
            "user": rng.choice(USERS, count),
            "group": rng.choice(["g1", "g2", "g3"], count),
            "queue": rng.choice(QUEUES, count),
            "task": rng.choice(KINDS, count),
        }
    )
    if rng.random() < 0.3:
        jobs["gpu_type"] = rng.choice(["A", "B", "A|B", None], count)
    return jobs


def _static(rng: np.random.Generator) -> dict[str, Any]:
    """Settings of a replay whose order is known beforehand."""
    return {
        "order": str(rng.choice(STATIC)),
        "place": str(rng.choice(PLACES)),
        "queue": str(rng.choice(["skip", "strict"])),
    }


def _dynamic(rng: np.random.Generator, nodes: pd.DataFrame) -> dict[str, Any]:
    """Settings of a replay with rules, moving orders or plans; each rule in about a quarter."""
    chosen: dict[str, Any] = {
        "order": str(rng.choice(MOVING if rng.random() < 0.6 else STATIC)),
        "place": str(rng.choice(PLACES)),
        "queue": str(rng.choice(["skip", "strict", "easy", "conservative"])),
    }
    if chosen["order"] in ("fair_share", "dominant_share", "multifactor"):
        chosen |= {"shares": SHARES, "half_life_s": float(rng.choice([0.0, 3600.0]))}
    if chosen["order"] == "tiresias":
        chosen["order_options"] = {"threshold_gpu_s": 600.0}
    if chosen["order"] == "multifactor":
        chosen["order_options"] = {"age": 1000.0, "fair_share": 5000.0, "size": 500.0}
    planned = chosen["queue"] in ("easy", "conservative")
    if planned:
        chosen["estimate"] = str(rng.choice(["time_limit_s", "duration_s"]))
        chosen["noise"] = float(rng.choice([0.0, 0.0, 0.7]))
        if rng.random() < 0.5:
            chosen["backfill"] = "every=60s,per_user=2" if chosen["queue"] == "easy" else _plan(rng)
    elif rng.random() < 0.4:
        chosen["preempt"] = str(
            rng.choice(
                [
                    "on",
                    "checkpoint=300s,restart=30s,min_run=400s",
                    "checkpoint=60s,restart=5s,min_run=100s,every=60s",
                ]
            )
        )
    rules = {
        "share": ["per_gpu=2,slowdown=0.28", "per_gpu=1", "slowdown=0.5", "per_gpu=4"],
        "speeds": [SPEEDS],
        "scaling": ["floor=1,boot=120s,idle=300s", "floor=0,boot=30s,idle=600s"],
        "calendar": [_calendar(rng, nodes)],
        "failures": ["mtbf=6h,mttr=10min", "mtbf=2h,mttr=600s"],
        "ladder": ["on", "factor=2,fails_after=0.5", "factor=1.5,fails_after=1"],
        "quotas": [_quotas()],
    }
    for name, choices in rules.items():
        if rng.random() < 0.22:
            chosen[name] = choices[int(rng.integers(len(choices)))]
    return chosen


def _plan(rng: np.random.Generator) -> str:
    return str(
        rng.choice(
            [
                "every=60s,depth=5",
                "window=1h,resolution=60s",
                "depth=3,per_user=1,whole_nodes=yes",
                "every=30s,clock=10s",
            ]
        )
    )


def _calendar(rng: np.random.Generator, nodes: pd.DataFrame) -> pd.DataFrame:
    count = int(rng.integers(1, 4))
    begin = np.round(rng.uniform(0, 5000, count))
    return pd.DataFrame(
        {
            "node_id": rng.choice(nodes["node_id"].to_numpy(), count),
            "from_s": begin,
            "to_s": begin + np.round(rng.uniform(10, 4000, count)),
            "lose": rng.random(count) < 0.5,
        }
    )


def _quotas() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "user": ["ann", "*", None],
            "queue": [None, None, "q"],
            "jobs": [3, None, 8],
            "cpu_cores": [None, 40.0, None],
            "gpus": [None, 12.0, None],
        }
    )


def _word(value: Any) -> str:
    return "table" if isinstance(value, pd.DataFrame) or value == SPEEDS else str(value)


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")
