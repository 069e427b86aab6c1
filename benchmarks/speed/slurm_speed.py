"""How fast are replays by a Slurm site's rules, and the twin of a long queue? Processor time.

    python benchmarks/speed/slurm_speed.py

20,000 jobs with bf_interval 30 s and depth 100; five orders on 10,000 waiting jobs and 1,000 nodes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.slurm.snapshot import QueueSnapshot
from prophase.sim.slurm.twin import ORDERS, QueueTwin
from prophase.sim.slurm_conf import slurm_settings
from prophase.trace.readers.slurm_conf import SlurmConf
from record import Measurement, record

CORES = 32.0
SIZES = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
WIDTHS = [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0]


def site(count: int) -> tuple[pd.DataFrame, SlurmConf]:
    """Return equal nodes, and a configuration with one partition of them."""
    names = [f"n{number}" for number in range(count)]
    nodes = pd.DataFrame({"node_id": names, "cpu_cores": CORES, "memory_gib": 128.0, "gpus": 0.0})
    conf = SlurmConf(
        {
            "schedulerparameters": "bf_interval=30,bf_max_job_test=100",
            "selecttypeparameters": "CR_Core_Memory",
        }
    )
    conf.nodes = {name: {} for name in names}
    conf.partitions = {"main": {"nodes": "ALL", "default": "YES"}}
    return nodes, conf


def trace(count: int, nodes: int, load: float) -> pd.DataFrame:
    """Return jobs that ask for this share of the nodes on average."""
    rng = np.random.default_rng(0)
    duration = np.clip(rng.lognormal(np.log(1800), 1.5, count), 10, 5 * 86_400)
    width, cores = rng.choice(WIDTHS, count), rng.choice(SIZES, count)
    span = (duration * width * cores).sum() / (nodes * CORES * load)
    limit = np.ceil(duration * rng.choice([1.1, 1.5, 3, 6], count) / 900) * 900
    return pd.DataFrame(
        {
            "job_id": [f"j{number}" for number in range(count)],
            "submit_s": np.sort(rng.uniform(0, span, count)),
            "duration_s": duration,
            "instances": width,
            "request_cpu_cores": cores,
            "request_memory_gib": 2 * cores,
            "time_limit_s": limit,
            "user": rng.choice(list("abcdefghij"), count),
            "source": "sacct",
        }
    )


def queue(waiting: int, count: int) -> QueueSnapshot:
    """Return nodes that are almost full, and jobs that wait."""
    rng = np.random.default_rng(0)
    nodes, conf = site(count)
    conf.settings["schedulerparameters"] = "bf_interval=30"
    free, rows = np.full(count, CORES), []
    while free.sum() > 0.03 * CORES * count:
        cores = float(rng.choice(SIZES))
        able = np.flatnonzero(free >= cores)
        if len(able):
            node = int(rng.choice(able))
            free[node] -= cores
            rows.append((cores, 1.0, f"n{node}", 1e6 - rng.uniform(0, 3600)))
    runs = len(rows)
    rows += [
        (float(rng.choice(SIZES)), float(rng.choice(WIDTHS)), "", np.nan) for _ in range(waiting)
    ]
    jobs = pd.DataFrame(rows, columns=["request_cpu_cores", "instances", "held_nodes", "start_s"])
    whole = len(jobs)
    limit = np.ceil(rng.lognormal(np.log(7200), 1, whole) / 900) * 900
    limit[:runs] += 3600
    jobs = jobs.assign(
        job_id=[f"j{number}" for number in range(whole)],
        status=np.where(np.arange(whole) < runs, "running", "pending"),
        submit_s=1e6 - rng.uniform(0, 86_400, whole),
        time_limit_s=limit,
        user="ann",
        queue="main",
        group="nlp",
        attr_qos="normal",
        request_memory_gib=jobs["request_cpu_cores"],
        request_gpus=0.0,
        attr_priority=rng.integers(1, 10**6, whole).astype(float),
    )
    return QueueSnapshot(1e6, jobs, nodes, (), slurm_settings(conf), {})


def timed(work: Callable[[], object], repeats: int = 3) -> list[float]:
    """Return the processor seconds of each repeat; the first call compiles and does not count."""
    work()
    found = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        found.append(time.process_time() - before)
    return found


def main() -> None:
    """Measure."""
    for nodes, load in ((100, 0.9), (100, 1.05), (1000, 1.05)):
        table, conf = site(nodes)
        workload, cluster = (
            Workload.from_jobs(trace(20_000, nodes, load)),
            Cluster.from_nodes(table),
        )
        rules = slurm_settings(conf)
        spent = timed(lambda: simulate(workload, cluster, **rules))  # noqa: B023
        record(Measurement(f"20,000 jobs on {nodes} nodes, load {load}, depth 100", "s", spent))
    twin = QueueTwin(queue(10_000, 1000))
    left = 0.5 * (twin.jobs["time_limit_s"] - twin.jobs["elapsed_s"]).to_numpy(float) + 1

    def five() -> None:
        for order in ORDERS:
            twin.starts(left, order=order)

    record(Measurement("five orders, 10,000 waiting jobs on 1,000 nodes", "s", timed(five)))


if __name__ == "__main__":
    main()
