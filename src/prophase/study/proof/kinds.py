"""Which jobs are runs of the same thing: what a recommendation is given for, by columns."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from prophase.errors import InputError, MissingColumnError
from prophase.sizing.recommender import Gate
from prophase.sizing.replays.task_runs import known_before
from prophase.sizing.resources import RESOURCES
from prophase.study.proof.backtest import SplitsFound, forward_splits
from prophase.study.proof.reserved_hours import subject_of
from prophase.trace.describe.column_arrays import has_values


def with_kinds(
    jobs: pd.DataFrame, columns: Sequence[str], resource: str = "memory"
) -> pd.DataFrame:
    """Return the jobs with ``task`` made of these columns; ``task`` alone leaves them as they are.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["1"], "group": ["g"], "task": ["worker"]})
    >>> with_kinds(jobs, ["group", "task"])["task"].tolist()
    ['g/worker']
    """
    names = pd.Series(known_before(jobs, "strict", RESOURCES[resource])[0], index=jobs.index)
    parts = []
    for column in columns:
        if column != "task" and column not in jobs:
            raise MissingColumnError(
                f"the jobs have no column {column!r} to name kinds by. They have: "
                f"{', '.join(map(str, list(jobs.columns)[:20]))}."
            )
        values = names if column == "task" else jobs[column]
        parts.append(values.astype("string").fillna("-"))
    if not parts:
        return jobs
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.str.cat(part, sep="/")
    return jobs.assign(task=joined)


# Which jobs are runs of the same thing: what a recommendation is for.
#
# A workflow names its tasks. On a shared cluster the task is often only a role ("worker"), and
# what recurs is the group of a job, or what a user runs: then recommendation per role would be for
# everybody and nobody.


#: cuts at which namings are tried
_TRIED = 3
#: a naming whose later runs are killed more often than this many times the risk is not chosen,
#: nor one that keeps its promise at a smaller share of the cuts
_TOO_MANY, _KEPT = 5.0, 0.9


def choose_kinds(
    jobs: pd.DataFrame,
    *,
    resource: str = "memory",
    risk: float = 0.01,
    gate: Gate | None = None,
) -> tuple[str, ...]:
    """Return the columns that name kinds of job best: task, group and task, or user and task.

    Each is back-tested at three cut-off dates; the one whose recommendations save later jobs most
    wins, among those with few kills and right predictions.
    """
    tried: list[tuple[str, ...]] = [("task",)]
    tried += [(column, "task") for column in ("group", "user") if has_values(jobs, column)]
    if len(tried) == 1:
        return tried[0]
    best, most = tried[0], -1.0
    for columns in tried:
        try:
            subject = subject_of(with_kinds(jobs, columns, resource), resource)
        except InputError:
            return tried[0]
        found = forward_splits(subject, risk=risk, gate=gate, splits=_TRIED)
        saved = _saved(found, risk)
        if saved > most + 1e-9:
            best, most = columns, saved
    return best


def _saved(found: SplitsFound, risk: float) -> float:
    """Return the share that later jobs saved, over all cuts; nothing if it is not to be trusted."""
    if found.oom is None or found.oom.value > _TOO_MANY * risk or found.kept < _KEPT * found.told:
        return 0.0
    return sum(one.held_out_pct for one in found.splits) / len(found.splits)
