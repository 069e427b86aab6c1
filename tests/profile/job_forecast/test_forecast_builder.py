from __future__ import annotations

import json

import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.profile import ask, learn
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.predict.job_model import JobModel


def test_a_known_job_gets_ranges_reasons_and_the_attribute_that_mattered(model: JobModel) -> None:
    found = ask(model, {"user": "bob", "workload": "bert", "gpus": 2, "memory": "64Gi"})
    duration = found["duration_s"]
    assert duration.low <= duration.value <= duration.high
    assert duration.confidence in ("high", "medium")
    assert "same user" in duration.reason
    assert duration.mattered[0].column == "user"
    assert duration.mattered[0].factor > 1
    assert found["memory_peak_gib"].unit == "GiB"


def test_the_need_stands_beside_the_request(model: JobModel) -> None:
    found = ask(model, {"user": "ann", "memory": "64Gi"})
    (memory,) = found.sizes
    assert memory.request == "request_memory_gib"
    assert memory.asked == 64.0
    assert 3 < memory.typical < memory.safe < 10
    assert any("asked: 64 GiB" in line for line in found.lines())


def test_a_never_seen_job_gets_wide_ranges_no_size_and_hears_what_is_new(model: JobModel) -> None:
    found = ask(model, {"user": "eve", "workload": "vgg", "gpus": 64, "colour": "red"})
    assert found["duration_s"].stratum == "new"
    assert {one.confidence for one in found.targets} == {"low"}
    assert found["duration_s"].high / found["duration_s"].low > 5
    assert not found.sizes
    told = " ".join(found.unsure)
    assert "user 'eve' was never seen" in told
    assert "request_gpus 64 is above all that was seen (1 to 2)" in told
    assert "colour not used: finished jobs do not say it, or it was left out." in told


def test_a_request_that_no_finished_job_states_is_said_not_to_count(
    model: JobModel,
) -> None:
    told = " ".join(ask(model, {"user": "ann", "cpus": 4000}).unsure)
    assert "request_cpu_cores not used: no finished job says it." in told


def test_an_attribute_is_found_again_under_the_name_it_was_imported_from() -> None:
    kinds = ["spot", "on-demand"] * 40
    history = pd.DataFrame({"attr_capacity": kinds, "attr_depth": [2.0, 4.0] * 40,
                            "duration_s": [60.0, 6000.0] * 40})  # fmt: skip
    model = learn(history, ["duration_s"])
    for said in ({"Capacity": "spot", "depth": "2"}, {"attr_capacity": "spot", "attr_depth": 2}):
        found = ask(model, said)
        assert found["duration_s"].value == pytest.approx(60, rel=0.1)
        assert not any("not used" in sentence or "seen" in sentence for sentence in found.unsure)
    told = " ".join(ask(model, {"capcity": "spot", "depth": 2}).unsure)
    assert "capcity not used: finished jobs do not say it, or it was left out. Did you mean" in told
    with pytest.raises(InputError, match="says colour; they say capacity and depth"):
        ask(model, {"colour": "red"})


def test_what_all_jobs_share_is_no_doubt_and_another_value_of_it_is_one() -> None:
    history = pd.DataFrame({"user": ["ann", "bob"] * 40, "attr_site": "north",
                            "duration_s": [60.0, 6000.0] * 40})  # fmt: skip
    model = learn(history, ["duration_s"])
    same, other = (ask(model, {"user": "ann", "site": site}) for site in ("north", "south"))
    assert not same.unsure
    assert "site 'south' was never seen." in other.unsure
    assert other["duration_s"].high / other["duration_s"].low > (
        same["duration_s"].high / same["duration_s"].low
    )


def test_missing_attributes_are_named(model: JobModel) -> None:
    told = " ".join(ask(model, {"workload": "bert"}).unsure)
    assert "no user, request_gpus given: taken from finished jobs" in told


def test_too_little_history_abstains_with_a_reason(history: pd.DataFrame) -> None:
    thin = learn(history[:6], ["duration_s"], method="shrinkage")
    found = ask(thin, {"user": "ann"})
    assert found["duration_s"].abstained
    assert "no answer" in " ".join(found.lines())
    assert any("fewer than 10 finished jobs" in line for line in found.unsure)


def test_an_answer_is_json_without_nan(model: JobModel, history: pd.DataFrame) -> None:
    thin = learn(history[:6], ["duration_s"], method="shrinkage")
    for one in (ask(model, {"user": "ann"}), ask(thin, {"user": "ann"})):
        held = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        assert held["targets"][0]["target"] == "duration_s"


def test_a_classifier_names_the_profile(model: JobModel, history: pd.DataFrame) -> None:
    labels = (history["user"] == "bob").astype(int).tolist()
    classifier = ProfileClassifier("rules", unknown_below=0.0).fit(history, labels)
    found = ask(model, {"user": "bob", "workload": "bert"}, classifier=classifier)
    assert found.profile is not None
    assert found.profile.profile == "1"
    assert any(line.startswith("  profile 1 (") for line in found.lines())


def test_a_job_that_says_nothing_of_profiles_is_answered_without_one(
    model: JobModel, history: pd.DataFrame
) -> None:
    labels = history["user"].to_numpy()
    classifier = ProfileClassifier("rules", unknown_below=0.0).fit(history, labels)
    found = ask(model, {"memory": "16Gi"}, classifier=classifier)
    assert found.profile is not None
    assert found.profile.profile == "unknown"
    assert "user" in found.profile.reason
    assert found.targets


def test_wrong_questions_are_refused(model: JobModel) -> None:
    with pytest.raises(ParameterError, match="has not learned 'joules'"):
        ask(model, {"user": "ann"}, targets=["joules"])
    with pytest.raises(InputError, match="says nothing"):
        ask(model, {})
    with pytest.raises(InputError, match="never below 0"):
        ask(model, {"gpus": -1})
