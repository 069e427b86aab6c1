from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.sizing.bins.made_scenarios import scenario_jobs

from prophase.errors import InputError, ModelFileError, ParameterError
from prophase.sizing.bins import pipeline_study
from prophase.sizing.bins.pipeline_bins import PipelineBins
from prophase.sizing.bins.pipeline_study import BINS, BinsSettings, BinsStudy, study_bins
from prophase.sizing.bins.scenario_dependence import scenario_dependence
from prophase.sizing.bins.study_result import bins_result
from prophase.trace.identity.job_identity import with_identity
from prophase.trace.prices import Prices


@pytest.fixture(scope="module")
def jobs() -> pd.DataFrame:
    return scenario_jobs()


@pytest.fixture(scope="module")
def found(jobs: pd.DataFrame) -> BinsStudy:
    return study_bins(jobs, BinsSettings(trials=2), prices=Prices(gib_hour=0.01, currency="EUR"))


def test_the_tasks_that_depend_on_the_scenario_are_told_from_those_that_do_not(found):
    said = {row["task"]: (row["depends_on_scenario"], row["driver"]) for row in found.tasks}
    assert said == {"train": ("yes", "articles"), "load": ("no", None), "noise": ("no", None),
                    "rare": ("unknown", None)}  # fmt: skip


def test_a_task_that_depends_gets_eighteen_models_and_others_a_static_request(found):
    assert len(found.experiments) == 6 * len({str(one.binning) for one in found.experiments})
    assert {one.task for one in found.experiments} == {"train"}
    assert list(found.model.predictors) == ["train"]
    assert set(found.model.static_gib) == {"load", "noise"}
    assert found.chosen["train"].score.accuracy_pct > 90
    assert len(found.history()) == 2 * len(found.experiments)


def test_all_ways_of_sizing_are_judged_on_the_same_later_runs_with_money(found):
    rows = {row["sized_by"]: row for row in found.comparison}
    assert set(rows) == {BINS, "today's requests", "krr", "recommender"}
    assert len({row["runs"] for row in rows.values()}) == 1
    assert rows["today's requests"]["saved"] == 0
    assert rows[BINS]["relative"] < 0.5
    spent = {name: row["cost"] for name, row in rows.items()}
    assert spent[BINS] < spent["today's requests"]


def test_one_run_is_estimated_for_memory_and_cores_as_in_table_13(found):
    memory, cores = found.run_estimate
    # train 64, load 16, noise 16 and rare 64; 4 cores each
    assert (memory["before"], cores["before"]) == (160.0, 16.0)
    assert memory["after"] < 100
    # rare has too few runs to change its request
    assert cores["after"] == 3 * 1 + 4


def test_the_file_answers_as_the_model_did_and_holds_no_pickle(found, jobs, tmp_path):
    path = tmp_path / "bins.model"
    found.model.save(path)
    asked = jobs.drop(columns=["memory_peak_gib", "duration_s", "cpu_peak_cores"])
    again = PipelineBins.load(path).requests(asked)
    assert again == found.model.requests(asked)
    by = {row["task"]: row["by"] for row in again}
    assert by == {"train": "bins", "load": "static", "noise": "static", "rare": "request"}
    heavy = found.model.requests(pd.DataFrame({"task": ["train"], "attr_articles": [1000.0]}))[0]
    light = found.model.requests(pd.DataFrame({"task": ["train"], "attr_articles": [10.0]}))[0]
    assert heavy["memory_gib"] > 20 > light["memory_gib"]
    assert light["ladder_gib"] == sorted(light["ladder_gib"])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ModelFileError):
        PipelineBins.load(path)


def test_plain_accuracy_is_allowed_and_less_than_that_is_not(jobs):
    one = study_bins(jobs, BinsSettings(trials=1, penalty=1.0, tasks=("train",)))
    best = one.chosen["train"].score
    assert best.u_score == pytest.approx(100 - best.accuracy_pct)
    with pytest.raises(ParameterError, match="plain accuracy"):
        study_bins(jobs, BinsSettings(penalty=0.9))


def test_what_cannot_be_trained_is_said(jobs, monkeypatch):
    with pytest.raises(ParameterError, match="no task 'trian'"):
        study_bins(jobs, BinsSettings(tasks=("trian",)))
    with pytest.raises(InputError, match="cannot be split"):
        study_bins(jobs.iloc[:1])
    alone = study_bins(jobs[jobs["task"] == "load"], BinsSettings(trials=1))
    assert any("static requests" in note for note in alone.notes)
    ticks = iter(range(1000))
    monkeypatch.setattr(pipeline_study.time, "monotonic", lambda: float(next(ticks)))
    late = study_bins(jobs, BinsSettings(trials=1, budget_s=0.5))
    assert "the budget was used up" in late.notes[0]
    assert not late.experiments


def test_the_result_has_a_table_of_each_kind_and_says_the_comparison(found):
    shown = bins_result(found, saved="bins.model")
    keys = [table.key for table in shown.tables]
    assert keys == ["tasks", "models", "confusion_1", "run_estimate", "comparison"]
    assert any("the recommender" in note for note in shown.notes)
    json.dumps(shown.values)


def test_dependence_is_not_read_out_of_chance():
    rng = np.random.default_rng(1)
    wrong = sum(
        scenario_dependence(
            pd.DataFrame(rng.random((60, 5))).add_prefix("a"), rng.random(60) + 1
        ).depends
        == "yes"
        for _ in range(50)
    )
    assert wrong <= 2


def test_a_new_version_of_the_code_starts_a_new_history(jobs):
    order = jobs["parent_id"].str[1:].astype(int)
    versions = jobs.assign(attr_container=np.where(order < 60, "old", "new"))
    # the old code needed far more
    versions.loc[order < 60, "memory_peak_gib"] *= 1.9
    model = study_bins(with_identity(versions, by="task"), BinsSettings(trials=1)).model
    assert model.code["train"] == "container=new"
    asked = {"task": ["train"] * 3, "attr_articles": [1000.0] * 3}
    told = pd.DataFrame({**asked, "attr_container": ["new", "old", None]})
    rows = model.requests(told)
    assert [row["by"] for row in rows] == ["bins", "request", "bins"]
    assert rows[0]["memory_gib"] < 30
    assert "another version" in rows[1]["reason"]
