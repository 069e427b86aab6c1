from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ModelFileError, ParameterError
from prophase.modelfile import load_model, save_model
from prophase.sizing.bins.bin_predictor import KIND, BinPredictor

EDGES = (10.0, 60.0, 350.0)


@pytest.fixture(scope="module")
def fitted(heavy):
    return BinPredictor(EDGES, trials=4).fit(heavy)


@pytest.mark.parametrize("classifier", ["svm", "xgboost", "cautious"])
def test_a_predictor_comes_back_from_its_file_with_the_same_answers(heavy, tmp_path, classifier):
    made = BinPredictor(EDGES, classifier=classifier, trials=2).fit(heavy)
    made.save(tmp_path / "bins.model")
    again = BinPredictor.load(tmp_path / "bins.model")
    np.testing.assert_array_equal(again.predict(heavy), made.predict(heavy))
    assert again.tuned_.settings == made.tuned_.settings
    assert len(again.tuned_.history) == 2


def test_serving_one_run_answers_as_offline(heavy, fitted):
    offline = fitted.predict(heavy.head(40))
    for place in range(0, 40, 7):
        one = {name: [heavy[name].iloc[place]] for name in fitted.preprocessing_.columns}
        np.testing.assert_array_equal(fitted.predict(one)[0], offline[place])


def test_most_runs_are_predicted_right_and_ladders_climb_bin_by_bin(heavy, fitted):
    right = fitted.classes(heavy) == fitted.binning_.classes(heavy["memory_peak_gib"].to_numpy())
    assert right.mean() > 0.95
    ladders = {tuple(row) for row in fitted.predict(heavy)}
    assert (10.0, 60.0, 350.0) in ladders
    assert (350.0, 700.0, 1400.0) in ladders


def test_the_same_seed_finds_the_same_best_settings(heavy, fitted):
    again = BinPredictor(EDGES, trials=4).fit(heavy)
    assert again.tuned_.settings == fitted.tuned_.settings
    columns = ["trial", "C", "gamma", "balance", "u_score"]
    pd.testing.assert_frame_equal(again.tuned_.history[columns], fitted.tuned_.history[columns])


def test_the_best_settings_are_those_of_the_least_u_score_in_the_history(fitted):
    history = fitted.tuned_.history
    assert fitted.tuned_.u_score == history["u_score"].min()
    assert len(history) == 4


def test_another_task_is_refused_at_prediction(heavy, fitted):
    with pytest.raises(InputError, match="knows the task predict_demand only, and not other"):
        fitted.predict(heavy.head(2).assign(task="other"))


def test_several_tasks_are_refused_when_fitting(pipeline):
    with pytest.raises(InputError, match="of 27 tasks"):
        BinPredictor(EDGES, trials=1).fit(pipeline)


def test_a_missing_column_is_named(heavy, fitted):
    with pytest.raises(MissingColumnError, match="attr_products"):
        fitted.predict(heavy.head(1).drop(columns="attr_products"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda jobs: jobs.assign(memory_peak_gib=5.0), "Ask for 10 GiB always"),
        (lambda jobs: jobs.assign(memory_peak_gib=-1.0), "below 0 in 1,460 rows"),
        (lambda jobs: jobs.assign(memory_peak_gib=np.nan), "nothing to learn from"),
        (lambda jobs: jobs.assign(status="oom"), "nothing to learn from"),
        (lambda jobs: jobs.assign(memory_peak_gib=jobs["memory_peak_gib"] * 10), "above the larg"),
    ],
)
def test_runs_nothing_can_be_learned_from_are_refused_with_the_reason(heavy, change, message):
    with pytest.raises(InputError, match=message):
        BinPredictor(EDGES, trials=1).fit(change(heavy))


def test_runs_killed_for_lack_of_memory_are_not_taken_for_light_ones(heavy):
    killed = heavy.assign(
        status=["oom"] * 100 + ["completed"] * (len(heavy) - 100),
        memory_peak_gib=[1e4] * 100 + heavy["memory_peak_gib"].tolist()[100:],
    )
    assert BinPredictor(EDGES, trials=1).fit(killed).task_ == "predict_demand"


def test_it_answers_only_after_fitting():
    with pytest.raises(ParameterError, match="not fitted yet"):
        BinPredictor(EDGES).predict({"attr_rows": [1.0]})


def test_a_file_that_lacks_a_part_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "whole.model")
    whole = load_model(tmp_path / "whole.model")
    meta = {name: value for name, value in whole.meta.items() if name != "preprocessing"}
    save_model(tmp_path / "part.model", kind=KIND, meta=meta, arrays=dict(whole.arrays))
    with pytest.raises(ModelFileError, match="lacks a part"):
        BinPredictor.load(tmp_path / "part.model")


def test_no_trial_is_refused(heavy):
    with pytest.raises(ParameterError, match="at least one"):
        BinPredictor(EDGES, trials=0).fit(heavy)
