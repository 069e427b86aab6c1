"""Load-aware thesis, assessment: how well requests are used, task by task."""

from __future__ import annotations

from prophase.sizing.assess.assessment import assess
from prophase.trace.synth.pipeline import make_pipeline

RUNS = 60


def main() -> None:
    """Print utilisation, and the three kinds of task."""
    jobs = make_pipeline().jobs
    some = jobs["parent_id"].drop_duplicates().head(RUNS)
    found = assess(jobs[jobs["parent_id"].isin(some)].reset_index(drop=True))
    whole = found.utilisation[found.utilisation["task"] == "all tasks"]
    print(whole.round(1).to_string(index=False))
    print(found.clusters.round(1).to_string(index=False))


if __name__ == "__main__":
    main()
