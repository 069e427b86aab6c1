"""How long until the first answer in a fresh environment? Processor time, nothing compiled yet.

    python benchmarks/speed/first_answer.py [--before CHECKOUT]

Three jobs and 20,000 jobs with EASY backfilling, each in a process of its own with an empty folder
for compiled code; then the same 20,000 jobs again, and every kernel compiled at set-up. With
``--before`` the three jobs are replayed by another checkout of Prophase as well.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from record import ROOT, Measurement, record

THREE = pd.DataFrame(
    {
        "job_id": ["a", "b", "c"],
        "submit_s": [0.0, 1.0, 2.0],
        "duration_s": [10.0, 10.0, 5.0],
        "request_gpus": [1.0, 2.0, 1.0],
        "time_limit_s": 20.0,
    }
)


def many(count: int) -> pd.DataFrame:
    """Return jobs that ask for nine tenths of 100 nodes with 8 GPUs."""
    rng = np.random.default_rng(0)
    duration, gpus = rng.exponential(3600, count), rng.choice([1.0, 2.0, 4.0, 8.0], count)
    span = (duration * gpus).sum() / (800 * 0.9)
    return pd.DataFrame(
        {
            "job_id": [f"j{number}" for number in range(count)],
            "submit_s": np.sort(rng.uniform(0, span, count)),
            "duration_s": duration,
            "request_gpus": gpus,
            "time_limit_s": 2 * duration,
        }
    )


def seconds(command: list[str], compiled: Path, source: Path) -> float:
    """Return the processor time of a command that keeps compiled code in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        env={**os.environ, "NUMBA_CACHE_DIR": str(compiled), "PYTHONPATH": str(source / "src")},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--before", type=Path, help="another checkout to compare with")
    before = options.parse_args().before
    with tempfile.TemporaryDirectory() as folder:
        three, full = Path(folder, "three.csv"), Path(folder, "many.csv")
        THREE.to_csv(three, index=False)
        many(20_000).to_csv(full, index=False)
        start = "import sys; from prophase.cli.main import run; sys.exit(run())"
        prophase = [sys.executable, "-c", start, "simulate"]
        few = [*prophase, str(three), "--cluster", "1x2", "--queue", "easy"]
        lots = [*prophase, str(full), "--cluster", "100x8", "--queue", "easy"]
        empty = (Path(folder, f"compiled-{number}") for number in range(9))
        ours = [seconds(few, next(empty), ROOT) for _ in range(3)]
        theirs = [seconds(few, next(empty), before)] if before else []
        record(
            Measurement(
                "three jobs, EASY, nothing compiled",
                "s",
                ours,
                "before" if theirs else "",
                theirs,
                remark="at most 10 asked",
            )
        )
        kept = next(empty)
        record(Measurement("20,000 jobs, EASY, nothing compiled", "s", [seconds(lots, kept, ROOT)]))
        record(Measurement("20,000 jobs, EASY, compiled", "s", [seconds(lots, kept, ROOT)]))
        everything = [sys.executable, str(ROOT / "tools" / "compile_kernels.py")]
        record(Measurement("every kernel at set-up", "s", [seconds(everything, next(empty), ROOT)]))


if __name__ == "__main__":
    main()
