"""A schedule as tables: one row per job, and one per attempt and instance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.sim.attempts import FINISHED, OUTCOMES
from prophase.sim.job_times import JobTimes
from prophase.sim.signatures import ASK_INSTANCES, Ints


def job_table(schedule: JobTimes) -> pd.DataFrame:
    """Return one row per job: times, attempts, and where its first instance ran last."""
    workload, held = schedule.workload, schedule.occupancy
    jobs = len(workload)
    finished = np.bincount(held.job[held.outcome == FINISHED], minlength=jobs) > 0
    # the last attempt overwrites the earlier ones, an attempt's first instance the others
    last = np.full(jobs, -1, np.int64)
    by_start = np.lexsort((-held.instance, held.attempt, held.start_s[held.attempt]))
    last[held.job[held.attempt[by_start]]] = by_start
    return pd.DataFrame(
        {
            "job_id": workload.jobs["job_id"],
            "submit_s": workload.submit_s,
            "start_s": schedule.start_s,
            "end_s": schedule.end_s,
            "duration_s": workload.duration_s,
            "run_s": schedule.run_s,
            "wait_s": schedule.wait_s,
            "jct_s": schedule.jct_s,
            "attempts": np.bincount(held.job, minlength=jobs),
            "finished": finished,
            "instances": workload.asks[:, ASK_INSTANCES],
            "node_id": _or_missing(_node_names(schedule)[held.node[last]], last),
            "gpu_ids": _or_missing(_gpu_lists(held.gpu_bits)[last], last),
        }
    )


def attempt_table(schedule: JobTimes) -> pd.DataFrame:
    """Return one row per attempt and instance, in the order of the starts."""
    held = schedule.occupancy
    of_job = np.lexsort((held.start_s, held.job))
    job = held.job[of_job]
    new = np.r_[True, job[1:] != job[:-1]] if job.size else np.zeros(0, bool)
    firsts = np.flatnonzero(new)
    number = np.empty(len(job), np.int64)
    number[of_job] = np.arange(len(job)) - np.repeat(firsts, np.diff(np.r_[firsts, len(job)]))
    order = np.lexsort((held.instance, held.attempt, held.start_s[held.attempt]))
    attempt = held.attempt[order]
    return pd.DataFrame(
        {
            "job_id": schedule.workload.jobs["job_id"].to_numpy()[held.job[attempt]],
            "attempt": number[attempt],
            "instance": held.instance[order],
            "start_s": held.start_s[attempt],
            "end_s": held.end_s[attempt],
            "outcome": np.array(OUTCOMES, object)[held.outcome[attempt]],
            "lost_s": held.lost_s[attempt],
            "node_id": _node_names(schedule)[held.node[order]],
            "gpu_ids": _gpu_lists(held.gpu_bits)[order],
        }
    )


def _node_names(schedule: JobTimes) -> NDArray[Any]:
    return schedule.cluster.nodes["node_id"].astype(str).to_numpy(object)


def _gpu_lists(bits: Ints) -> NDArray[Any]:
    """Write bit sets as GPU numbers; there are few different ones among many."""
    different, place = np.unique(bits, return_inverse=True)
    texts = [
        " ".join(str(gpu) for gpu in range(int(one).bit_length()) if int(one) >> gpu & 1)
        for one in different
    ]
    return np.array(texts, object)[place]


def _or_missing(values: NDArray[Any], row: Ints) -> NDArray[Any]:
    values = values.copy()
    values[row < 0] = None
    return values
