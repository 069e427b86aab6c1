"""PolarisProfiler, evaluation: run times from what is known at submission, split by time."""

from __future__ import annotations

from prophase.profile.predict.evaluation import evaluate
from prophase.trace.split import split_by_time
from prophase.trace.synth.pai import make_pai

JOBS = 600
#: a profile's mean, as in the paper, beside look-ups that need no profile
METHODS = ("profile-mean", "backoff-median", "global-median")


def main() -> None:
    """Print how well each method predicts the later jobs."""
    jobs = make_pai(JOBS, days=3.0).jobs
    split = split_by_time(jobs, test_share=0.25)
    found = evaluate(jobs.iloc[split.train], jobs.iloc[split.test], METHODS)
    for method, scores in found.methods.items():
        # a share of relative errors alone would reward guessing short: look at several measures
        print(
            f"{method}: median error {scores['median_ape_pct']:.0f} %, within a factor of two "
            f"{scores['within_x2_pct']:.0f} %, R2 of log {scores['r2_log']:.2f}"
        )


if __name__ == "__main__":
    main()
