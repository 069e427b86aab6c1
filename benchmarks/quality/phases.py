"""Are the phases found those that are there? Synthetic series know; every labeller is asked.

Phases differ in level, in movement, or in both. The adjusted Rand index compares the phases that
were found, causally and with nothing given, with the truth; samples before the first label count
as a phase of their own. The baseline is one phase for everything but outliers of it: k-means on
single samples with the true number of phases given.

    python benchmarks/quality/phases.py [--seeds 5] [--first-seed N] [--labellers hmm,samples,...]

``--first-seed`` must be one that nobody looked at while the code was written.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.phase.detector import PhaseDetector
from prophase.phase.labellers import LABELLERS
from prophase.phase.labelling_scores import adjusted_rand_index
from prophase.trace.synth.containers import make_containers
from record import Measurement, record

NAMES = {"levels": "levels", "both": "levels and dynamics", "dynamics": "dynamics only"}
NEEDED = {"levels": 0.94, "both": 0.94, "dynamics": 0.40}


def found_in(kind: str, seed: int, detector: PhaseDetector) -> tuple[float, int, float]:
    """Return the index, the number of phases found, and the CPU seconds of learning."""
    trace = make_containers(
        series=12, samples=500, services=1, phases=4, kind=kind, random_state=seed
    )
    begun = time.process_time()
    detector.fit(trace.usage)
    seconds = time.process_time() - begun
    labels = detector.label(trace.usage).merge(
        trace.truth["truth_phases"], on=["series_id", "time_s"], suffixes=("", "_true")
    )
    truth = labels["phase_true"].to_numpy(np.int64)
    return adjusted_rand_index(labels["phase"].to_numpy(), truth), detector.n_phases_, seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--labellers", default=",".join(LABELLERS))
    chosen = options.parse_args()
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    for kind, words in NAMES.items():
        plain = [found_in(kind, seed, PhaseDetector("samples", n_phases=4))[0] for seed in seeds]
        for labeller in chosen.labellers.split(","):
            found = [found_in(kind, seed, PhaseDetector(labeller)) for seed in seeds]
            counts = ", ".join(str(count) for _, count, _ in found)
            record(
                Measurement(
                    f"phases found, {words}, {labeller}", "adjusted Rand index",
                    [index for index, _, _ in found], "k-means on samples, 4 given", plain,
                    f"12 synthetic containers x 500 samples, 4 phases, seeds {seeds[0]} to "
                    f"{seeds[-1]}",
                    f"phases chosen: {counts}; {np.median([s for _, _, s in found]):.1f} CPU s; "
                    f"needed {NEEDED[kind]}",
                )
            )  # fmt: skip


if __name__ == "__main__":
    main()
