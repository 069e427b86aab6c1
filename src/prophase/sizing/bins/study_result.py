"""A study of bins as a result: tasks, models, confusion matrices, one run, and the comparison."""

from __future__ import annotations

from prophase.json_types import JsonObject
from prophase.result import Result, Table
from prophase.sizing.bins.experiments import Experiment
from prophase.sizing.bins.pipeline_study import BINS, BinsStudy
from prophase.sizing.bins.scores import marked_confusion

#: columns of a model that people compare by
_OF_MODEL = (
    "task", "binning", "classifier", "sampling", "accuracy_pct", "u_score", "u_rate_pct",
    "time_optimal_pct", "estimated_pct", "realised_pct",
)  # fmt: skip


def bins_result(found: BinsStudy, *, saved: str = "", further: list[str] | None = None) -> Result:
    """Return the study for every renderer.

    Parameters
    ----------
    saved : str
        Where the model was written.
    further : list of str, optional
        More to say below the tables.
    """
    models = [{name: one.row()[name] for name in _OF_MODEL} for one in found.experiments]
    tables = [
        Table("tasks", found.tasks, "Which tasks depend on the scenario, and what each asks for")
    ]
    if models:
        tables.append(Table("models", models, "Models per task, judged on runs at random"))
    tables += [
        Table(f"confusion_{number}", _confusion(one), _caption(task, one))
        for number, (task, one) in enumerate(found.chosen.items(), 1)
    ]
    tables.append(Table("run_estimate", found.run_estimate, "One run that covers every task once"))
    tables.append(Table("comparison", found.comparison, "Later runs, sized by each way"))
    notes = [*_in_words(found), *found.notes, *(further or [])]
    if saved:
        notes.append(f"Wrote {saved}.")
    values = {**found.to_dict(), "model": saved or None}
    return Result("size-bins", tables=tables, values=values, notes=notes)


def _confusion(one: Experiment) -> list[JsonObject]:
    table = marked_confusion(one.score, one.binning)
    return [
        {"needed_gib": str(edge), **{f"up_to_{name}": cell for name, cell in row.items()}}
        for edge, row in zip(table.index, table.to_dict("records"), strict=True)
    ]


def _caption(task: str, one: Experiment) -> str:
    return (
        f"{task}, {one.classifier}, sampling {one.sampling}: bins needed against bins predicted, "
        "GiB; - under-estimated, + over-estimated"
    )


def _in_words(found: BinsStudy) -> list[str]:
    said = [
        f"{row['resource']} of one run: {row['before']:.4g} -> {row['after']:.4g} "
        f"({row['improved_pct']:.1f} % less, estimated as in the thesis)."
        for row in found.run_estimate
        if row["improved_pct"] is not None
    ]
    rows = {row["sized_by"]: row for row in found.comparison}
    bins, beside = rows[BINS], rows["recommender"]
    said.append(
        f"On the latest {bins['runs']:,} runs the bins wasted {bins['waste_gib_h']:,.4g} GiB h "
        f"with {bins['kills']:,} kills, the recommender {beside['waste_gib_h']:,.4g} with "
        f"{beside['kills']:,}."
    )
    return said
