"""Load-aware thesis, prediction: requests per task, learnt run by run, beside plain rules."""

from __future__ import annotations

from prophase.sizing import compare, recommend
from prophase.trace.synth.pipeline import make_pipeline

RUNS = 25
SIZERS = ("default", "maximum", "request")


def main() -> None:
    """Print what sizers would have wasted, and the recommendation that saves most."""
    jobs = make_pipeline().jobs
    some = jobs["parent_id"].drop_duplicates().head(RUNS)
    jobs = jobs[jobs["parent_id"].isin(some)].reset_index(drop=True)
    for row in compare(jobs, SIZERS)["sizers"]:
        print({key: row[key] for key in list(row)[:5]})
    for task in recommend(jobs, risk=0.01).tasks[:5]:
        print(f"{task.task}: now {task.now:.0f} GiB, recommended {task.ladder[0]:.1f}; {task.why}")


if __name__ == "__main__":
    main()
