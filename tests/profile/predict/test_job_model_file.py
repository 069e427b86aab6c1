from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ModelFileError, ParameterError
from prophase.modelfile import load_model, save_model
from prophase.profile.predict.job_model import JobModel, learn
from prophase.profile.predict.methods import METHODS
from prophase.profile.predict.packed_objects import Packer, Unpacker

#: these differ from profile-mean in what they take from the same profile
ALIKE = ("profile-median", "profile-q05", "profile-interquartile-mean", "profile-iqr")


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ALIKE])
def test_a_loaded_model_answers_and_learns_on_to_the_bit_like_the_saved_one(
    method: str, jobs: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prophase.profile.predict.methods.quantile_trees._ROUNDS", 5)
    history = jobs.assign(time_limit_s=3600.0, cpu_mean_cores=jobs["memory_peak_gib"] / 8)
    model = learn(history[:250], ["duration_s"], method=method)
    model.update(history[250:260])
    model.save(tmp_path / "a.model")
    back = JobModel.load(tmp_path / "a.model")
    asked = history[300:360]
    pd.testing.assert_frame_equal(model.predict(asked), back.predict(asked), check_exact=True)
    for one in (model, back):
        one.update(history[260:300])
    pd.testing.assert_frame_equal(model.predict(asked), back.predict(asked), check_exact=True)


def test_a_loaded_model_answers_a_few_jobs_without_xgboost(
    jobs: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = learn(jobs[:200], ["duration_s"])
    model.save(tmp_path / "a.model")
    monkeypatch.setattr(
        "prophase.profile.predict.leaf_forest.xgboost", lambda: pytest.fail("XGBoost was loaded")
    )
    few = jobs[300:310]
    found = JobModel.load(tmp_path / "a.model").predict(few)
    pd.testing.assert_frame_equal(found, model.predict(few), check_exact=True)


@pytest.fixture
def small(jobs: pd.DataFrame, tmp_path: Path) -> Path:
    targets = ["duration_s", "memory_peak_gib"]
    model = learn(jobs[:200], targets, method="shrinkage", data_hash="abc", random_state=3)
    model.save(tmp_path / "small.model")
    return tmp_path / "small.model"


def test_a_model_keeps_where_it_came_from_and_equal_rows_once(small: Path) -> None:
    back = JobModel.load(small)
    assert (back.jobs, back.method, back.data_hash, back.random_state) == (
        200, "shrinkage", "abc", 3,
    )  # fmt: skip
    assert back.targets == ("duration_s", "memory_peak_gib")
    assert set(back.seen.hashes) == {"user", "group", "task"}
    held = load_model(small)
    assert "user" in held.columns
    # keys and ends of both targets are the same arrays
    one, two = (predictor.history_.memories[0] for predictor in back.predictors.values())
    assert one._long.names is two._long.names


@pytest.mark.parametrize("cut", [0, 10, 2_000, -1])
def test_a_truncated_model_is_refused(small: Path, cut: int) -> None:
    small.write_bytes(small.read_bytes()[:cut])
    with pytest.raises(ModelFileError, match=r"damaged|empty|not a Prophase model"):
        JobModel.load(small)


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "peak.model", kind="sizing.peak")
    with pytest.raises(ModelFileError, match=r"'profile.predict' is needed"):
        JobModel.load(tmp_path / "peak.model")


def resaved(path: Path, **changes: object) -> Path:
    held = load_model(path)
    save_model(
        path, kind=held.kind, meta={**held.meta, **changes}, arrays=held.arrays, blobs=held.blobs
    )
    return path


def test_a_model_of_another_layout_is_refused_with_what_to_do(small: Path) -> None:
    with pytest.raises(ModelFileError, match=r"layout 99 .* Learn the model again"):
        JobModel.load(resaved(small, layout=99))


def test_a_model_that_no_longer_answers_as_it_did_is_refused(small: Path) -> None:
    held = load_model(small)
    arrays = {
        name: array * 1.5 if array.dtype == np.float64 and array.shape[0] == 200 else array
        for name, array in held.arrays.items()
    }
    save_model(small, kind=held.kind, meta=held.meta, arrays=arrays, blobs=held.blobs)
    with pytest.raises(ModelFileError, match="not those it was saved with"):
        JobModel.load(small)


@pytest.mark.parametrize(
    "name", ["os:system", "builtins:eval", "prophase.profile.no:One", "prophase.errors:nearest"]
)
def test_a_file_cannot_make_anything_but_classes_of_this_package(small: Path, name: str) -> None:
    meta = json.loads(json.dumps(load_model(small).meta))
    meta["predictors"][0]["object"] = name
    with pytest.raises(ModelFileError, match="does not know"):
        JobModel.load(resaved(small, predictors=meta["predictors"]))


def test_values_of_any_kind_come_back_as_they_were() -> None:
    value = {
        "numbers": [1, True, None, "a", 0.1, float("inf"), np.float32(0.3)],
        ("a", False): ({1, 2}, frozenset({"x"}), np.array(["u", None, 2.5], dtype=object)),
    }
    packer = Packer()
    packed = json.loads(json.dumps(packer.pack(value)))
    back = Unpacker(packer.arrays, packer.blobs).unpack(packed)
    assert back["numbers"] == value["numbers"]
    assert back["a", False][:2] == value["a", False][:2]
    assert back["a", False][2].tolist() == ["u", None, 2.5]


def test_what_cannot_be_saved_is_named() -> None:
    with pytest.raises(ParameterError, match=r"DataFrame cannot be saved"):
        Packer().pack(pd.DataFrame())


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("prophase.profile.predict.methods.baselines:BackoffMedian", "BackoffMedian"),
        ("prophase.profile.predict.methods.key_medians:Shrinkage", "Shrinkage"),
        ("prophase.profile.drift.culprit:Culprit", "Culprit"),
        ("prophase.profile.drift.predictions_made:Clock", "Clock"),
    ],
)
def test_a_file_that_names_the_former_module_of_a_class_is_still_read(named: str, found: str):
    made = Unpacker({}, {}).unpack({"object": named, "state": {"random_state": 3}})
    assert type(made).__name__ == found
    assert made.random_state == 3
