"""Questions that wait are answered together, each as if alone."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from prophase.errors import MissingColumnError
from prophase.profile.predict.job_model import JobModel
from prophase.profile.predict.prediction_rows import predicted_rows
from prophase.serve import prediction_batches as batching
from prophase.serve.prediction_batches import Batcher


@pytest.fixture(scope="module")
def model(made_workspace: Path) -> JobModel:
    return JobModel.load(made_workspace / "models" / "predictions.model")


def test_many_questions_at_once_get_their_own_answers(
    model: JobModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def counted(asked: JobModel, jobs: list[dict[str, Any]], targets: Any) -> Any:
        calls.append(len(jobs))
        return predicted_rows(asked, jobs, targets)

    monkeypatch.setattr(batching, "predicted_rows", counted)
    batcher = Batcher()
    questions = [
        [{"job_id": f"{n}-{m}", "user": f"u{n % 7}", "request_gpus": 1.0} for m in range(1 + n % 3)]
        for n in range(30)
    ]
    asked: list[Future[list[dict[str, Any]]]] = [
        batcher.ask(model, rows, ("duration_s",)) for rows in questions
    ]
    for rows, answer in zip(questions, asked, strict=True):
        told = answer.result(timeout=60)
        assert [one["job_id"] for one in told] == [row["job_id"] for row in rows]
        alone = predicted_rows(model, rows, ["duration_s"])
        assert [one["value"] for one in told] == pytest.approx(
            [one["value"] for one in alone], rel=1e-5
        )
    assert len(calls) < len(questions)
    batcher.close()


def test_a_question_that_cannot_be_answered_spoils_no_other(model: JobModel) -> None:
    batcher = Batcher()
    good = [batcher.ask(model, [{"job_id": "a", "user": "u1"}], None) for _ in range(3)]
    bad = batcher.ask(model, [{"job_id": "b", "attr_strange": "x"}], None)
    with pytest.raises(MissingColumnError):
        bad.result(timeout=60)
    assert all(one.result(timeout=60) for one in good)
    batcher.close()
