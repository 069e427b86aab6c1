from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.profile.predict.back_off_keys import choose_levels, hash_columns, key_of
from prophase.profile.predict.methods import predictor_named


def test_levels_go_from_the_same_job_to_all_jobs(jobs: pd.DataFrame) -> None:
    labels = [level.label for level in choose_levels(jobs[["user", "group", "task"]])]
    assert labels == [
        "user, group and task", "group and task", "group", "user and task", "user", "all jobs",
    ]  # fmt: skip


def test_an_attribute_that_numbers_the_rows_is_no_part_of_a_key() -> None:
    rows = 300
    jobs = pd.DataFrame(
        {
            "user": ["a", "b", "c"] * 100,
            "attr_number": np.arange(rows, dtype=float),
            "attr_kind": ["x", "y"] * 150,
        }
    )
    used = {column for level in choose_levels(jobs) for column in level.columns}
    assert used == {"user", "attr_kind"}


def test_jobs_that_share_only_a_request_are_not_seen_as_the_same() -> None:
    jobs = pd.DataFrame({"request_gpus": [1.0, 2.0, 1.0]})
    assert [level.closeness for level in choose_levels(jobs)] == ["partly", "new"]


def test_keys_are_equal_where_values_are_and_missing_is_a_value_of_its_own() -> None:
    jobs = pd.DataFrame(
        {
            "user": ["a", "a", None, "a"],
            "request_gpus": [1.0, 1, 1.0, np.nan],
        }
    )
    level = choose_levels(jobs)[0]
    keys = key_of(level, hash_columns(jobs, set(level.columns)), len(jobs))
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3
    alone = jobs.iloc[[0]].astype({"request_gpus": int})
    assert key_of(level, hash_columns(alone, set(level.columns)), 1)[0] == keys[0]


def test_an_account_alone_does_not_tell_what_kind_of_job_it_is() -> None:
    jobs = pd.DataFrame({"group": ["a", "b"] * 20, "request_gpus": [1.0, 2.0, 4.0, 8.0] * 10})
    closeness = {level.label: level.closeness for level in choose_levels(jobs)}
    assert closeness == {
        "group and request": "seen", "group": "partly", "request": "partly", "all jobs": "new",
    }  # fmt: skip


def test_names_that_differ_in_numbers_only_are_one_kind_of_job() -> None:
    names = [f"{kind}_run{number}" for number in range(60) for kind in ("train", "eval")]
    jobs = pd.DataFrame({"name": names, "user": ["ann", "bob", "cyd"] * 40})
    labels = [level.label for level in choose_levels(jobs)]
    assert "name but for its numbers" in labels
    few = jobs.assign(name=["train", "eval"] * 60)
    assert "name but for its numbers" not in [level.label for level in choose_levels(few)]
    run = np.where(jobs["name"].str.startswith("train"), 3600.0, 60.0)
    found = predictor_named("backoff-median").fit(jobs.assign(duration_s=run))
    asked = pd.DataFrame({"name": ["train_run999", "eval_run999"], "user": "new"})
    assert found.predict(asked)["value"].round().tolist() == [3600.0, 60.0]


def test_numbered_names_of_one_user_come_before_those_of_everybody() -> None:
    jobs = pd.DataFrame(
        {
            "name": [f"{'fit' if n % 2 else 'eval'}-{n}" for n in range(400)],
            "user": [f"u{n % 7}" for n in range(400)],
            "request_gpus": [float(n % 3) for n in range(400)],
        }
    )
    labels = [level.label for level in choose_levels(jobs)]
    own = labels.index("name but for its numbers and user")
    assert own < labels.index("name but for its numbers")
    assert own < labels.index("user and request")


def test_a_name_of_a_user_comes_before_the_account_where_no_task_is_known() -> None:
    jobs = pd.DataFrame(
        {
            "name": ["sft", "eval", "prep", "sft"] * 30,
            "user": ["wei", "tom", "tom", "ann"] * 30,
            "group": ["a", "b", "b", "a"] * 30,
        }
    )
    labels = [level.label for level in choose_levels(jobs)]
    assert labels.index("name and user") < labels.index("group")


def test_a_new_size_of_a_known_user_and_workload_is_answered_from_that_workload() -> None:
    draw = np.random.default_rng(0)
    kind = np.where(np.arange(400) % 2, "eval", "pretrain")
    jobs = pd.DataFrame(
        {
            "user": [f"u{n % 5}" for n in range(400)],
            "workload": kind,
            "request_gpus": draw.integers(1, 3, 400).astype(float),
            "duration_s": np.where(kind == "eval", 300.0, 40_000.0),
        }
    )
    asked = pd.DataFrame({"user": ["u1"], "workload": ["eval"], "request_gpus": [7.0]})
    found = predictor_named("backoff-median").fit(jobs).predict(asked)
    assert found["value"].round().tolist() == [300.0]
    assert "same user and workload" in found["reason"][0]


def test_a_level_of_user_and_task_is_left_out_where_no_task_is_known() -> None:
    jobs = pd.DataFrame({"user": ["a", "b"] * 9, "workload": ["x", "y", "y"] * 6})
    labels = [level.label for level in choose_levels(jobs)]
    assert labels == ["user and workload", "user", "workload", "all jobs"]


def test_requests_that_differ_by_rounding_have_one_key() -> None:
    memory = [93.132257, 93.13, 94.0, 0.0, np.nan]
    jobs = pd.DataFrame({"request_memory_gib": memory, "attr_seed": memory})
    hashed = hash_columns(jobs, {"request_memory_gib", "attr_seed"})
    assert len(set(hashed["request_memory_gib"].tolist())) == 4
    assert len(set(hashed["attr_seed"].tolist())) == 5
