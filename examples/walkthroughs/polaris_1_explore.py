"""PolarisProfiler, exploration: do jobs fall into groups, and what is in them?"""

from __future__ import annotations

from prophase.profile.clusters.generator_comparison import hopkins_by_transform
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.usage_metrics import usage_features
from prophase.trace.synth.pai import make_pai

JOBS = 400


def main() -> None:
    """Print the Hopkins statistic and the largest profiles."""
    jobs = make_pai(JOBS, days=3.0).jobs
    done = jobs[jobs["status"] == "completed"].reset_index(drop=True)
    # 0: tight groups, 0.5: anywhere; start, end and duration would leak what is to be predicted
    print(hopkins_by_transform(usage_features(done), repeats=2).to_string(index=False))
    profiler = WorkloadProfiler().fit(done)
    for profile in sorted(profiler.profiles_, key=lambda one: -one.n)[:5]:
        print(profile.sentence())


if __name__ == "__main__":
    main()
