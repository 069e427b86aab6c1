"""PolarisProfiler, evaluation: run times from what is known at submission, split by time.

Given a folder, it keeps both sides of the split, the scores, and the figures of the errors there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from prophase.plots.prediction_errors import write_error_figures
from prophase.profile.predict.evaluation import evaluate
from prophase.trace.split import split_by_time
from prophase.trace.synth.pai import make_pai

JOBS = 600
#: a profile's mean, as in the paper, beside look-ups that need no profile
METHODS = ("profile-mean", "backoff-median", "global-median")


def main(folder: Path | None = None) -> None:
    """Print how well each method predicts the later jobs; keep it if there is a folder."""
    jobs = make_pai(JOBS, days=3.0).jobs
    split = split_by_time(jobs, test_share=0.25)
    earlier, later = jobs.iloc[split.train], jobs.iloc[split.test]
    found = evaluate(earlier, later, METHODS)
    for method, scores in found.methods.items():
        # a share of relative errors alone would reward guessing short: look at several measures
        print(
            f"{method}: median error {scores['median_ape_pct']:.0f} %, within a factor of two "
            f"{scores['within_x2_pct']:.0f} %, R2 of log {scores['r2_log']:.2f}"
        )
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        earlier.to_csv(folder / "train.csv", index=False)
        later.to_csv(folder / "test.csv", index=False)
        pd.DataFrame(found.methods).T.to_csv(folder / "scores.csv", index_label="method")
        judged = later.loc[next(iter(found.answers.values())).index]
        truth = judged["duration_s"].to_numpy()
        write_error_figures(folder, truth, found.answers, judged["workload"], per="workload")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
