"""What replay benchmarks share: a mixed workload, CPU time, and time inside the compiled loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from prophase.sim import static_loop

NODES, GPUS = 1200, 8


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of this process for some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def peak_mib() -> float:
    """Return the peak memory of this process.

    Not ``ru_maxrss``: a child starts with that of the process that began it.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


@contextmanager
def kernel_seconds() -> Iterator[list[float]]:
    """Collect the CPU seconds of each pass through the compiled event loop."""
    called, seconds = static_loop.call, []

    def timed(*arguments: Any, work: int) -> Any:
        began = time.process_time()
        answer = called(*arguments, work=work)
        seconds.append(time.process_time() - began)
        return answer

    static_loop.call = timed
    try:
        yield seconds
    finally:
        static_loop.call = called


def mixed_jobs(count: int, load: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """Make jobs of 1 to 8 GPUs for 9,600 GPUs at the given load."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1.0, 2.0, 4.0, 8.0], count, p=[0.7, 0.12, 0.1, 0.08])
    gap = gpus.mean() * 3600 / (load * NODES * GPUS)
    return pd.DataFrame(
        {
            # by Arrow: NumPy's text takes 84 bytes a word, and would be the peak of every run
            "job_id": pd.Series(pa.array(np.arange(count)).cast(pa.large_string()), dtype="str"),
            "submit_s": np.cumsum(rng.exponential(gap, count)),
            "duration_s": rng.exponential(3600.0, count),
            "request_gpus": gpus,
        }
    )
