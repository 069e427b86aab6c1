"""How long a sizer thinks: a decision, and learning from an outcome, at 2,000 runs of a task.

Times are CPU time per call, beside KRR's rule in the same process.

    python benchmarks/speed/sizing_speed.py [--repeats 3]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.sizing import make_online_sizer
from record import Measurement, record

HISTORY, TIMED = 2_000, 500


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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    taken = {name: [timed(name) for _ in range(options.repeats)] for name in ("default", "krr")}
    for place, what in enumerate(("decision", "learning")):
        ours, theirs = ([run[place] for run in taken[name]] for name in ("default", "krr"))
        wanted = "at most 1 ms" if place == 0 else "at most 5 ms"
        record(
            Measurement(
                f"{what} at {HISTORY:,} runs of a task", "ms", ours, "KRR's rule", theirs,
                remark=f"wanted: {wanted}",
            )
        )  # fmt: skip


if __name__ == "__main__":
    main()
