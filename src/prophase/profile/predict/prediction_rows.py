"""Predictions as the rows that are shown: of the command line and of the service alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.profile.predict.job_model import JobModel
from prophase.profile.predict.missing_columns import fill_table
from prophase.profile.predict.submit_columns import Columns, limits
from prophase.profile.submission.submission import from_fields


def predicted(
    model: JobModel, jobs: pd.DataFrame, targets: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return the model's answers with the id of each job before them."""
    found = model.predict(jobs, targets)
    found.insert(0, "job_id", jobs["job_id"].loc[found.index])
    return found


def as_rows(found: pd.DataFrame) -> list[dict[str, object]]:
    """Return answers as JSON can hold them."""
    # column by column: pandas takes milliseconds for the rows of a table of one job
    names = [str(name) for name in found]
    columns = [[finite(value) for value in found[name].tolist()] for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def described_columns(described: Sequence[Mapping[Any, Any]]) -> list[JsonObject]:
    """Return the columns that each described job says; jobs without an id are numbered.

    Examples
    --------
    >>> described_columns([{"user": "ann", "memory": "16Gi"}, {"id": "b", "user": "bob"}])
    [{'job_id': '1', 'user': 'ann', 'request_memory_gib': 16.0}, {'job_id': 'b', 'user': 'bob'}]
    """
    return [
        {
            "job_id": str(number),
            **from_fields(fields, form="job description", where=f"job {number}").columns,
        }
        for number, fields in enumerate(described, start=1)
    ]


def predicted_rows(
    model: JobModel, jobs: Sequence[JsonMapping], targets: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """Return the rows that :func:`predicted` gives for jobs passed one by one, but sooner.

    Examples
    --------
    >>> from prophase.profile.predict.job_model import learn
    >>> history = pd.DataFrame({"user": ["ann", "bob"] * 20, "duration_s": [60.0, 600.0] * 20})
    >>> model = learn(history, method="backoff-median")
    >>> predicted_rows(model, [{"job_id": "1", "user": "bob"}])[0]["reason"]
    'based on 20 jobs with the same user'
    """
    columns = Columns.of([model.seen.in_kind(job) for job in jobs])
    model.refuse_foreign(columns)
    # what no job says is filled from finished jobs
    lacking = any(name not in columns for name in model.exemplars.columns)
    filled = fill_table(model.exemplars, columns) if lacking else None
    wanted = model.check_targets(targets)
    ids = columns["job_id"].tolist()
    novelty = model.seen.novelty(columns)
    answers = {}
    for target in wanted:
        predictor = model.predictors[target]
        if filled is None:
            answered = predictor.answers(columns)
        else:
            answered = filled.answers(predictor, columns)
        found = novelty.told(answered, predictor.bounds_, limits(columns), yes_no=predictor.yes_no_)
        answers[target] = {
            name: [finite(value) for value in values.tolist()] for name, values in found.items()
        }
    rows = []
    for place, job in enumerate(ids):
        for target, answer in answers.items():
            named = {"target": target} if len(wanted) > 1 else {}
            one = {name: values[place] for name, values in answer.items()}
            rows.append({"job_id": job, **named, **one})
    return rows
