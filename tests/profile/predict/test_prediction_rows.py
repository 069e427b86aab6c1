from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError
from prophase.profile.predict.job_model import JobModel, learn
from prophase.profile.predict.prediction_rows import (
    as_rows,
    described_columns,
    predicted,
    predicted_rows,
)

COUNT = 240


@pytest.fixture(scope="module")
def model() -> JobModel:
    draw = np.random.default_rng(0)
    submit = 300.0 * np.arange(COUNT)
    user = draw.choice(["ann", "bob", "eve"], COUNT)
    gpus = draw.choice([1.0, 2.0, 4.0], COUNT)
    run = 60.0 * gpus * np.exp(draw.normal(0, 0.3, COUNT))
    jobs = pd.DataFrame(
        {
            "user": user,
            "workload": draw.choice(["bert", "gnn"], COUNT),
            "request_gpus": gpus,
            "attr_batch": draw.choice([16.0, 32.0], COUNT),
            "submit_s": submit,
            "duration_s": run,
            "memory_peak_gib": gpus * 3,
            "end_s": submit + run,
        }
    )
    return learn(jobs, ["duration_s", "memory_peak_gib"])


WHOLE = {"user": "ann", "workload": "bert", "gpus": 2, "attr_batch": 16}


@pytest.mark.parametrize("targets", [["duration_s"], ["memory_peak_gib", "duration_s"], None])
@pytest.mark.parametrize(
    "jobs",
    [
        [WHOLE],
        [WHOLE, {**WHOLE, "user": "new", "job_id": "x"}, {**WHOLE, "workload": None}],
        [{**WHOLE, "submit_s": 1e6}],
        [{"user": "ann"}],
        [{"user": "ann", "queue": "q"}, {"user": "bob", "gpus": 4}],
    ],
    ids=["one", "several", "with a clock", "columns left out", "differently left out"],
)
def test_rows_passed_one_by_one_get_the_answers_of_a_table(
    model: JobModel, jobs: list[dict[str, object]], targets: list[str] | None
) -> None:
    rows = described_columns(jobs)
    assert predicted_rows(model, rows, targets) == as_rows(
        predicted(model, pd.DataFrame(rows), targets)
    )


def test_jobs_together_get_the_answers_they_get_alone(model: JobModel) -> None:
    rows = described_columns(
        [{**WHOLE, "user": name, "gpus": n % 5} for n, name in enumerate("abcde")]
    )
    together = predicted_rows(model, rows)
    alone = [one for row in rows for one in predicted_rows(model, [row])]
    for one, other in zip(together, alone, strict=True):
        # sums of another length are rounded in another order
        assert one == {**other, "value": pytest.approx(other["value"], rel=1e-5)}


def test_jobs_of_another_kind_are_refused(model: JobModel) -> None:
    with pytest.raises(MissingColumnError, match="none of the columns"):
        predicted_rows(model, [{"job_id": "1", "queue": "q"}])


def test_a_job_that_cannot_be_read_is_named_by_its_number() -> None:
    with pytest.raises(InputError, match="job 2: gpus: 'two'"):
        described_columns([{"user": "ann"}, {"gpus": "two"}])
