"""How long a sizer thinks: a decision, and learning from an outcome, at 2,000 runs of a task.

The same for the recommender behind every door, whose jobs say the size of their input, and how
much memory and disk it takes per kind. Times are CPU time per call, beside KRR's rule in the same
process.

    python benchmarks/speed/sizing_speed.py [--repeats 3] [--part time,size]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.sizing import make_online_sizer
from prophase.sizing.kind_runs import KindRuns
from prophase.sizing.recommender import Recommender, learn_recommender
from prophase.trace.identity.job_identity import full_name
from record import Measurement, record

HISTORY, TIMED = 2_000, 500
KINDS, EACH, MANY = 500, 10, 100_000


def timed(name: str) -> tuple[float, float]:
    """Return milliseconds per decision and per outcome."""
    sizer = make_online_sizer(name)
    random = np.random.default_rng(0)
    decide = learn = 0.0
    for number in range(HISTORY + TIMED):
        size = float(random.lognormal(0, 0.5))
        features = {
            "workflow": "w", "tag": f"cell{number % 7}_sample{number}", "cpus": 4,
            "request_gib": 64.0, "submit_s": float(number), "input_gib": size,
        }  # fmt: skip
        began = time.process_time()
        sizer.predict("align", features)
        decided = time.process_time()
        done = {**features, "post": {"rchar": size * 2**30, "wchar": size * 2**29}}
        sizer.observe("align", done, 2 + 3 * size + random.normal(0, 0.2), 0.3, False)
        if number >= HISTORY:
            decide += decided - began
            learn += time.process_time() - decided
    return 1e3 * decide / TIMED, 1e3 * learn / TIMED


def history(kinds: int, runs: int, seed: int = 0) -> pd.DataFrame:
    """Return runs of kinds whose peaks follow their input."""
    random = np.random.default_rng(seed)
    count = kinds * runs
    size = random.lognormal(0, 0.5, count)
    return pd.DataFrame(
        {
            "job_id": [f"j{seed}-{number}" for number in range(count)],
            "user": "ann",
            "task": [f"task{number % kinds}" for number in range(count)],
            "submit_s": 700.0 * np.arange(count) + 1e9 * seed,
            "duration_s": 600.0,
            "request_memory_gib": 64.0,
            "attr_input_bytes": size * 2**30,
            "memory_peak_gib": 2 + 3 * size + random.normal(0, 0.2, count).clip(-1, 1),
            "status": "completed",
        }
    )


def door() -> tuple[float, float, int]:
    """Return milliseconds per recommendation and per run learnt; and how many were jobs' own."""
    made = learn_recommender(history(1, HISTORY), resources=["memory"])
    later = history(1, TIMED, seed=1)
    known = ["user", "task", "submit_s", "request_memory_gib", "attr_input_bytes"]
    jobs = later[known].to_dict("records")
    began = time.process_time()
    found = [made.recommend({str(k): v for k, v in job.items()})[0] for job in jobs]
    decided = time.process_time()
    made.observe(later)
    learnt = time.process_time()
    own = sum(one.chance is not None for one in found)
    return 1e3 * (decided - began) / TIMED, 1e3 * (learnt - decided) / TIMED, own


def size() -> tuple[float, float]:
    """Return MB of memory and of disk for the model of 100,000 kinds.

    A few hundred kinds are learnt; the others are copies of them under names of their own. The
    file is written and loaded whole.
    """
    made = learn_recommender(history(KINDS, EACH), resources=["memory"])
    copied(made, MANY // KINDS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests.model"
        made.save(path)
        disk = path.stat().st_size
        tracemalloc.start()
        held = Recommender.load(path)
        memory, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(held.keys("memory")) == MANY
    return memory / 1e6, disk / 1e6


def copied(made: Recommender, times: int) -> None:
    """Add copies of each kind, so that there are so many of it."""
    runs, found, live = made._runs["memory"], made._by_key["memory"], made._live["memory"]
    for tenant, kind in list(runs):
        known = made.of("memory", (tenant, kind))
        assert known is not None
        for number in range(1, times):
            key = tenant, f"{kind}-{number}"
            runs[key] = KindRuns(runs[tenant, kind].values, *key)
            found[key] = replace(known, task=full_name(key), kind=key[1])
            name = full_name((tenant, kind))
            live.engine.histories_[full_name(key)] = live.engine.histories_[name]
            if name in live.records:
                live.records[full_name(key)] = live.records[name]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--part", default="time,size")
    options = parser.parse_args()
    if "time" in options.part:
        time_taken(options.repeats)
    if "size" in options.part:
        memory, disk = size()
        record(
            Measurement(
                f"recommender: model of {MANY:,} kinds of {EACH} runs", "MB in memory", [memory],
                "what was allowed", [200.0],
                remark=f"{KINDS} kinds learnt, the others copies of them; file {disk:.0f} MB",
            )
        )  # fmt: skip


def time_taken(repeats: int) -> None:
    """Record decisions and learning."""
    taken = {name: [timed(name) for _ in range(repeats)] for name in ("default", "krr")}
    for place, what in enumerate(("decision", "learning")):
        ours, theirs = ([run[place] for run in taken[name]] for name in ("default", "krr"))
        wanted = "at most 1 ms" if place == 0 else "at most 5 ms"
        record(
            Measurement(
                f"{what} at {HISTORY:,} runs of a task", "ms", ours, "KRR's rule", theirs,
                remark=f"wanted: {wanted}",
            )
        )  # fmt: skip
    doors = [door() for _ in range(repeats)]
    for place, what in enumerate(("recommendation", "learning")):
        krr = [run[place] for run in taken["krr"]]
        record(
            Measurement(
                f"recommender: {what} at {HISTORY:,} runs of a kind", "ms",
                [run[place] for run in doors], "KRR's rule", krr,
                remark=f"wanted: at most 2 ms; {doors[0][2]} of {TIMED} got a request of their own",
            )
        )  # fmt: skip


if __name__ == "__main__":
    main()
