from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.profile.predict.job_model import JobModel, learn


@pytest.fixture
def model(jobs: pd.DataFrame) -> JobModel:
    return learn(jobs[:400], method="shrinkage")


def test_duration_and_every_usage_column_with_values_are_learned(model: JobModel) -> None:
    assert model.targets == ("duration_s", "memory_peak_gib")


def test_a_target_with_a_handful_of_values_is_left_out_and_reported(jobs: pd.DataFrame) -> None:
    few = jobs[:100].assign(read_bytes=[5.0] * 3 + [np.nan] * 97)
    found = learn(few, method="shrinkage")
    assert "read_bytes" not in found.targets
    assert found.notes == ("read_bytes is not learned: 3 jobs have it.",)


def test_several_targets_come_job_by_job(model: JobModel, jobs: pd.DataFrame) -> None:
    asked = jobs[500:503]
    found = model.predict(asked)
    assert found["target"].tolist() == ["duration_s", "memory_peak_gib"] * 3
    assert found.index.tolist() == [500, 500, 501, 501, 502, 502]
    alone = model.predictors["memory_peak_gib"].predict(asked)
    assert found["value"].tolist()[1::2] == alone["value"].tolist()
    assert model.predict(asked[:0]).empty


def test_jobs_of_another_schema_are_refused(model: JobModel) -> None:
    strange = pd.DataFrame({"job_id": ["x"], "attr_colour": ["red"], "duration_s": [-5.0]})
    with pytest.raises(MissingColumnError, match=r"none of the columns .* \(group, "):
        model.predict(strange)


def test_a_target_it_has_not_learned_is_refused_with_those_it_has(model: JobModel) -> None:
    with pytest.raises(ParameterError, match=r"Did you mean 'memory_peak_gib'\?"):
        model.predict(pd.DataFrame({"user": ["u1"]}), ["memory_peek_gib"])


@pytest.mark.parametrize("bad", [[], [np.nan] * 20, [-1.0] * 20, [5.0] * 3])
def test_a_history_without_enough_outcomes_is_refused(bad: list[float]) -> None:
    with pytest.raises(InputError, match="no target has 10 finished jobs"):
        learn(pd.DataFrame({"user": ["u"] * len(bad), "duration_s": bad}), method="shrinkage")


def test_finished_jobs_count_for_the_targets_they_have(model: JobModel) -> None:
    new = {"user": "eve", "group": "new", "task": "ps", "request_gpus": 7.0}
    model.update(pd.DataFrame([{**new, "duration_s": 77.0}]))
    found = model.predict(pd.DataFrame([new]))
    assert found["stratum"].tolist() == ["seen", "new"]
