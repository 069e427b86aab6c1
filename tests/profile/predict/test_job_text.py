from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.profile.predict.evaluation import evaluate
from prophase.profile.predict.job_model import JobModel, learn
from prophase.profile.predict.job_text import NO_TOKEN, JobText, TextColumns

STEPS = {"fastqc": 60.0, "align": 3_000.0, "sort": 300.0, "index": 20.0, "multiqc": 900.0}


def workflow_jobs(workflow: str, count: int, *, seed: int, first: int = 0) -> pd.DataFrame:
    """Jobs whose names are new in every workflow, and whose steps are not."""
    draw = np.random.default_rng(seed)
    step = draw.choice(list(STEPS), count)
    run = np.array([STEPS[one] for one in step]) * np.exp(draw.normal(0.0, 0.1, count))
    submit = 1e9 + 5_000.0 * (first + np.arange(count))
    return pd.DataFrame(
        {
            "job_id": [f"{workflow}{n}" for n in range(count)],
            "name": [f"NF_{workflow}:{one.upper()} (s{n})" for n, one in enumerate(step)],
            "task": [f"{workflow}_{one}" for one in step],
            "submit_s": submit,
            "end_s": submit + run,
            "duration_s": run,
        }
    )


@pytest.fixture(scope="module")
def history() -> pd.DataFrame:
    return workflow_jobs("RNA", 300, seed=0)


def test_hashes_are_one_word_and_say_nothing_in_common() -> None:
    draw = np.random.default_rng(0)
    hashes = [draw.bytes(8).hex() for _ in range(200)]
    assert all(len(JobText.of(one).words) == 1 for one in hashes if not one.isdigit())
    jobs = pd.DataFrame({"name": hashes, "attr_app": [f"app_{n}" for n in range(200)]})
    assert TextColumns.of(jobs, np.arange(200.0)).names == ()


def test_owners_and_clusters_are_no_texts() -> None:
    words = ["big red", "big blue", "small red", "small blue"] * 5
    names = [f"{word} {n}" for n, word in enumerate(words)]
    jobs = pd.DataFrame({"user": names, "attr_cluster": names, "attr_script": names})
    assert TextColumns.of(jobs, np.arange(20.0)).names == ("attr_script",)


def test_numbers_in_names_become_attributes_unless_they_rise_with_the_clock() -> None:
    draw = np.random.default_rng(0)
    rate = draw.choice(["0.1", "0.01", "0.001"], 100)
    kind = draw.choice(["train", "test"], 100)
    names = [f"{k} lr={r} day={n}" for n, (k, r) in enumerate(zip(kind, rate, strict=True))]
    jobs = pd.DataFrame({"name": names})
    found = TextColumns.of(jobs, np.arange(100.0))
    assert found.numbers == (("name", "lr"),)
    np.testing.assert_array_equal(found.values(jobs)[:, 0], rate.astype(float))


def test_a_job_without_a_name_has_no_words(history: pd.DataFrame) -> None:
    found = TextColumns.of(history[["name", "task"]], np.arange(300.0))
    tokens = found.tokens(pd.DataFrame({"name": [None, "FASTQC"], "task": [None, None]}))
    assert (tokens[0] == NO_TOKEN).all()
    assert (tokens[1] != NO_TOKEN).sum() == 1


def test_steps_of_a_new_workflow_are_known_by_their_words(
    history: pd.DataFrame, tmp_path: Path
) -> None:
    model = learn(history, ["duration_s"])
    assert "name" in model.columns
    asked = workflow_jobs("CHIP", 60, seed=1, first=300)
    told = model.predict(asked)
    assert "with the same words in name" in told["reason"].iloc[0]
    right = np.abs(np.log(told["value"].to_numpy() / asked["duration_s"].to_numpy())) < np.log(2)
    assert right.mean() > 0.9
    model.save(tmp_path / "a.model")
    back = JobModel.load(tmp_path / "a.model")
    for one in (model, back):
        one.update(asked[:30])
    pd.testing.assert_frame_equal(model.predict(asked[30:]), back.predict(asked[30:]))


def test_words_of_jobs_that_end_later_are_not_known_yet(history: pd.DataFrame) -> None:
    later = workflow_jobs("CHIP", 100, seed=1, first=300).assign(duration_s=7.0)
    later["name"] = later["task"] = [f"assemble part{n % 3}" for n in range(100)]
    # nothing of these ends before the last of them is submitted
    later["end_s"] = later["submit_s"].max() + 1.0
    online = evaluate(history, later, ["mixture"], online=True).answers["mixture"]
    once = evaluate(history, later, ["mixture"]).answers["mixture"]
    np.testing.assert_allclose(online["value"], once["value"])


def test_ranges_of_a_stranger_are_as_wide_as_applications_that_were_left_out_needed(
    tmp_path: Path,
) -> None:
    """Every workflow has a pace of its own, which the words of its steps do not tell."""
    paces = {"RNA": 1.0, "ATAC": 12.0, "MAG": 0.1, "EAGER": 4.0, "BWA": 0.3}
    parts = [
        workflow_jobs(name, 60, seed=place, first=60 * place).assign(workload=name)
        for place, name in enumerate(paces)
    ]
    for part in parts:
        part["duration_s"] *= paces[part["workload"].iloc[0]]
        part["end_s"] = part["submit_s"] + part["duration_s"]
    model = learn(pd.concat(parts, ignore_index=True), ["duration_s"], method="mixture")
    model.save(tmp_path / "a.model")
    stranger = workflow_jobs("CHIP", 60, seed=9, first=400).assign(workload="CHIP")
    told = JobModel.load(tmp_path / "a.model").predict(stranger)
    pd.testing.assert_frame_equal(told, model.predict(stranger))
    for pace in (0.2, 1.0, 5.0):
        run = pace * stranger["duration_s"]
        assert ((told["low"] <= run) & (run <= told["high"])).mean() > 0.85
    # of a workflow that has run the pace is known
    known = model.predict(workflow_jobs("RNA", 60, seed=7, first=400).assign(workload="RNA"))
    assert (known["high"] / known["low"]).median() < 0.2 * (told["high"] / told["low"]).median()


@pytest.mark.parametrize("name", ["ID00012", "job-123", "run_7", "task 9"])
def test_words_that_only_announce_a_number_make_no_jobs_alike(name: str) -> None:
    assert JobText.of(name).tokens() == []
    assert JobText.of(f"align_{name}").tokens() == ["align"]


@pytest.mark.parametrize(
    ("name", "words", "numbers"),
    [
        (
            "train_lr0.001_bs64_shard-03of12_2024-05-01",
            ("train", "lr", "bs", "shard", "of"),
            {"lr": "0.001", "bs": "64", "shard": "03", "of": "12", "date": "20240501"},
        ),
        ("train.py --epochs=90 --lr 5e-05", ("train", "py", "epochs", "lr"),
         {"epochs": "90", "lr": "5e-05"}),
        ("nvcr.io/nvidia/pytorch:24.03", ("nvcr", "io", "nvidia", "pytorch"), {"pytorch": "24.03"}),
        ("/data/run_20240501/fit.sh", ("data", "run", "fit", "sh"), {"date": "20240501"}),
        ("Zähler_Größe_12", ("zähler", "größe"), {"größe": "12"}),
        ("训练_3", ("训", "练"), {"练": "3"}),
        ("550e8400-e29b-41d4-a716-446655440000", ("550e8400-e29b-41d4-a716-446655440000",), {}),
        ("", (), {}),
    ],
)  # fmt: skip
def test_names_of_many_kinds_are_words_and_numbers(
    name: str, words: tuple[str, ...], numbers: dict[str, str]
) -> None:
    read = JobText.of(name)
    assert (read.words, read.numbers) == (words, numbers)


def test_a_name_of_100_kilobytes_is_read_from_its_beginning() -> None:
    read = JobText.of("align " + "x" * 100_000)
    assert read.words[0] == "align"
    assert len(read.words[1]) < 1_000
