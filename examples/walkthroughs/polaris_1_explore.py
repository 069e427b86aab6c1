"""PolarisProfiler, exploration: do jobs fall into groups, and what is in them?

Given a folder, it keeps the sample, the profiles, and every figure with its numbers there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from prophase.plots.profiles.page import write_profile_page
from prophase.profile.clusters.generator_comparison import hopkins_by_transform
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.usage_metrics import usage_features
from prophase.trace.synth.pai import make_pai

JOBS = 400


def main(folder: Path | None = None) -> None:
    """Print the Hopkins statistic and the largest profiles; keep them if there is a folder."""
    jobs = make_pai(JOBS, days=3.0).jobs
    done = jobs[jobs["status"] == "completed"].reset_index(drop=True)
    # 0: tight groups, 0.5: anywhere; start, end and duration would leak what is to be predicted
    print(hopkins_by_transform(usage_features(done), repeats=2).to_string(index=False))
    profiler = WorkloadProfiler().fit(done)
    for profile in sorted(profiler.profiles_, key=lambda one: -one.n)[:5]:
        print(profile.sentence())
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        done.to_csv(folder / "sample.csv", index=False)
        profiler.save(folder / "profiles.model")
        write_profile_page(profiler, profiler.recognise(done), folder / "profiles")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
