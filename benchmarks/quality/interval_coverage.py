"""How often do the intervals of `prove` hold the truth where days differ?

Histories of 3 to 30 days of jobs of two tasks, of which one saves 60 % and the other 20 %. Each
day has its own mix of them, so savings differ by day with a standard deviation of 0, 5 or 15
points; killed at the first request are as many, and they differ by day as well. The true saving
and share of kills are known. `prove` is called on every history, without splits and replay, with
limits that lie exactly at the truth: a check that holds is a false PASS (nominal 2.5 %).

One row per number of days and day effect: coverage of the 95 % interval of the saving and of the
kills, false PASS of each, and histories that were too short to say.

    python benchmarks/quality/interval_coverage.py [HISTORIES]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
import pandas as pd

from prophase.study.proof.candidate import Candidate, CandidateLadder
from prophase.study.proof.prover import prove
from prophase.study.proof.verdict import Limits
from record import Measurement, record

DAYS = (3, 5, 7, 14, 30)
#: standard deviation of the day effect in points, and the share of kills it is put on
CELLS = ((0, 0.1), (5, 0.1), (15, 0.3))
HISTORIES = 400
JOBS_PER_DAY = 40
REQUEST_GIB, SAVING = 16.0, {"align": 0.6, "sort": 0.2}


def main() -> None:
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else HISTORIES
    for points, kills in CELLS:
        for days in DAYS:
            measure(days, points, kills, histories)


def measure(days: int, points: int, kills: float, histories: int) -> None:
    rng = np.random.default_rng([days, points])
    truth = float(np.mean(list(SAVING.values()))) - kills
    limits = Limits(max_oom=kills, min_saving=truth)
    held = {"saving": 0, "kills": 0}
    wrong = {"saving": 0, "kills": 0}
    silent = 0
    for _ in range(histories):
        proof = prove(history(rng, days, points / 100, kills), CANDIDATE, limits=limits, splits=0)
        found = {"saving": (proof.saving, truth), "kills": (proof.oom, kills)}
        silent += any(np.isnan(estimate.low) for estimate, _ in found.values())
        for name, check in zip(found, proof.verdict.checks, strict=True):
            estimate, true = found[name]
            held[name] += estimate.low <= true <= estimate.high
            wrong[name] += check.holds is True
    told = histories - silent
    for name in held:
        record(
            Measurement(
                f"coverage of the 95 % interval of {name}, {days} days, day effect {points} points",
                "%",
                [100 * held[name] / told] if told else [float("nan")],
                data=f"{histories} invented histories of {JOBS_PER_DAY} jobs a day",
                remark=f"false PASS {100 * wrong[name] / histories:.1f} %; "
                f"too short to say {silent} of {histories}; true {name} "
                f"{truth if name == 'saving' else kills:.0%}",
            )
        )


def history(rng: np.random.Generator, days: int, sd: float, kills: float) -> pd.DataFrame:
    """Draw jobs of so many days, fewer at weekends."""
    weekday = (rng.integers(7) + np.arange(days)) % 7
    day = np.repeat(np.arange(days), rng.poisson(np.where(weekday < 5, 1.0, 0.5) * JOBS_PER_DAY))
    # the mix of tasks moves the saving by 40 points from one end to the other
    first = rng.random(len(day)) < rates(rng, 0.5, sd / 0.4, days)[day]
    killed = rng.random(len(day)) < rates(rng, kills, sd, days)[day]
    task = np.where(first, "align", "sort")
    asked = np.where(first, FIRST_GIB["align"], FIRST_GIB["sort"])
    return pd.DataFrame(
        {
            "job_id": np.arange(len(day)).astype(str),
            "task": task,
            "submit_s": 86_400.0 * (day + rng.random(len(day))),
            "duration_s": rng.lognormal(7.0, 0.7, len(day)),
            "request_memory_gib": REQUEST_GIB,
            "memory_peak_gib": np.where(killed, REQUEST_GIB, 0.9 * asked),
        }
    ).sort_values("submit_s", ignore_index=True)


def rates(rng: np.random.Generator, mean: float, sd: float, days: int) -> np.ndarray:
    """Draw the rate of each day from a beta distribution."""
    if not sd:
        return np.full(days, mean)
    size = mean * (1 - mean) / sd**2 - 1
    return rng.beta(mean * size, (1 - mean) * size, days)


FIRST_GIB = {task: REQUEST_GIB * (1 - saving) for task, saving in SAVING.items()}
#: a killed job asks for its whole request the second time
CANDIDATE = Candidate(
    "memory",
    "GiB",
    {task: CandidateLadder(task, (first, REQUEST_GIB)) for task, first in FIRST_GIB.items()},
)

if __name__ == "__main__":
    main()
