from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.profile.clusters.generators.generator_names import generator_named
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.trace.workspace import Workspace

COUNT = 300


def history(shift: float = 0.0) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    user = draw.choice(["ann", "bob"], COUNT)
    submit = 100.0 * np.arange(COUNT)
    run = np.where(user == "ann", 60.0, 6000.0) * np.exp(draw.normal(0, 0.2, COUNT)) + shift
    return pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in range(COUNT)],
            "user": user,
            "workload": draw.choice(["bert", "gnn"], COUNT),
            "request_gpus": draw.choice([1.0, 2.0], COUNT),
            "submit_s": submit,
            "end_s": submit + run,
            "duration_s": run,
            "memory_peak_gib": np.where(user == "ann", 4.0, 12.0) * draw.uniform(0.9, 1.1, COUNT),
            "after_gpu_type": draw.choice(["T4", "V100"], COUNT),
            "status": "completed",
            "source": "test",
        }
    )


@pytest.fixture(scope="session")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with profiles: the two workloads."""
    folder = tmp_path_factory.mktemp("asked") / "ws"
    jobs = history()
    Workspace.create(folder).store_frames({"jobs": jobs}, source="test", source_hash="h1")
    profiler = WorkloadProfiler(generator_named("rules", jobs, label="workload")).fit(jobs)
    profiler.save(folder / "models" / "profiles.model")
    return folder


@pytest.fixture
def ws(learnt: Path, tmp_path: Path) -> Path:
    shutil.copytree(learnt, tmp_path / "ws")
    (tmp_path / "job.yaml").write_text("user: bob\nworkload: bert\ngpus: 2\n")
    return tmp_path / "ws"


def learn(prophase_here, *more: str) -> None:
    done = prophase_here("learn", "ws", "--method", "shrinkage", *more)
    assert done.returncode == 0, done.stderr


def test_a_learnt_workspace_answers_from_its_model(prophase_here, ws: Path) -> None:
    done = prophase_here("learn", "ws", "--method", "shrinkage", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert [row["target"] for row in json.loads(done.stdout)["targets"]] == [
        "duration_s", "memory_peak_gib",
    ]  # fmt: skip
    done = prophase_here("ask", "job.yaml", "--workspace", "ws", "--method", "shrinkage")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "duration_s" in done.stdout
    assert "90 %:" in done.stdout
    assert "same user, workload and request" in done.stdout
    assert "Mattered for duration_s: user" in done.stdout
    assert "profile " in done.stdout


def test_without_profiles_an_answer_says_how_to_get_them(prophase_here, ws: Path) -> None:
    done = prophase_here("ask", "job.yaml", "--workspace", "ws", "--method", "shrinkage")
    assert "profile fit ws, then prophase learn ws" in done.stdout


def test_json_holds_every_target_and_a_file_of_the_model_is_enough(prophase_here, ws: Path) -> None:
    learn(prophase_here, "--out", "my.model", "--target", "duration_s")
    done = prophase_here("ask", "job.yaml", "--model", "my.model", "--format", "json")
    (job,) = json.loads(done.stdout)["jobs"]
    (target,) = job["targets"]
    assert target["low"] <= target["value"] <= target["high"]
    assert 3_000 < target["value"] < 12_000
    done = prophase_here(
        "ask", "job.yaml", "--model", "my.model", "--set", "user=ann", "--format", "csv"
    )
    header, row = done.stdout.splitlines()
    assert header == "job,target,value,low,high,confidence,reason"
    assert float(row.split(",")[2]) < 200


def test_a_model_of_other_data_is_not_used_and_that_is_said(prophase_here, ws: Path) -> None:
    learn(prophase_here)
    frames = {"jobs": history(shift=1e6)}
    Workspace(ws).store_frames(frames, source="test", source_hash="h2", replace=True)
    arguments = ("ask", "job.yaml", "--workspace", "ws", "--method", "shrinkage", "-f", "json")
    done = prophase_here(*arguments)
    assert done.returncode == 0, done.stderr
    assert "learnt from other jobs" in done.stderr
    assert json.loads(done.stdout)["jobs"][0]["targets"][0]["value"] > 5e5
    saved = ws / "models" / "predictions.model"
    saved.write_bytes(saved.read_bytes()[:-10])
    done = prophase_here(*arguments)
    assert done.returncode == 0
    assert "is damaged" in done.stderr
    done = prophase_here("ask", "job.yaml", "--model", saved)
    assert done.returncode == 1
    assert "is damaged" in done.stderr


def test_predict_takes_several_targets_and_the_saved_model(prophase_here, ws: Path) -> None:
    learn(prophase_here)
    (ws.parent / "new.csv").write_text("job_id,user,workload,gpus\na,ann,bert,1\nb,bob,gnn,2\n")
    common = ("predict", "new.csv", "--workspace", "ws", "--method", "shrinkage", "-f", "json")
    done = prophase_here(*common, "--target", "all")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["predictions"]
    assert [(row["job_id"], row["target"]) for row in rows] == [
        ("a", "duration_s"), ("a", "memory_peak_gib"),
        ("b", "duration_s"), ("b", "memory_peak_gib"),
    ]  # fmt: skip
    done = prophase_here(*common, "--target", "joules")
    assert done.returncode == 1
    assert "joules" in done.stderr


def test_rules_that_will_be_broken_end_with_1(prophase_here, ws: Path) -> None:
    learn(prophase_here)
    rule = '[[rule]]\nname = "hour"\nmetric = "duration_s"\ncomparison = "<="\nvalue = "30min"\n'
    (ws.parent / "rules.toml").write_text(rule)
    common = ("--workspace", "ws", "--method", "shrinkage")
    done = prophase_here("slo", "rules.toml", "job.yaml", *common, "--format", "json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["predicted"] == 1
    assert found["violations"][0]["probability"] > 0.9
    done = prophase_here("slo", "rules.toml", "ws", *common)
    assert done.returncode == 1
    assert "brier" in done.stdout
    (ws.parent / "ann.yaml").write_text("user: ann\ngpus: 1\nworkload: bert\n")
    done = prophase_here("slo", "rules.toml", "ann.yaml", *common)
    assert done.returncode == 0
    assert "0 violations predicted among 1 jobs" in done.stdout


def test_node_types_are_ranked_for_a_job_a_profile_and_all(prophase_here, ws: Path) -> None:
    done = prophase_here("nodes", "ws", "--job", "job.yaml", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {row["node_type"] for row in found["node_types"]} == {"T4", "V100"}
    assert "same user" in found["alike"]
    assert prophase_here("nodes", "ws").returncode == 0
    done = prophase_here("nodes", "ws", "--job-file", "job.yaml", "--by-profile", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert "profile" in json.loads(done.stdout)["alike"]
    done = prophase_here("nodes", "ws", "--profile", "0", "--enough", "5")
    assert done.returncode == 0, done.stderr
    assert "of profile" in done.stdout
    done = prophase_here("nodes", "ws", "--profiles", "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["affinity"]
    assert {row["node_type"] for row in rows} == {"T4", "V100"}
    assert {"duration_median_s", "relative_duration", "jobs", "enough"} <= set(rows[0])
    (ws / "models" / "profiles.model").unlink()
    done = prophase_here("nodes", "ws", "--profile", "0")
    assert done.returncode == 2
    assert "prophase profile fit" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ask", "job.yaml"), 2, "--workspace WORKSPACE"),
        (("ask", "job.yaml", "--workspace", "ws", "--model", "a"), 2, "--workspace WORKSPACE"),
        (("ask", "none.yaml", "--workspace", "ws"), 2, "no such file"),
        (("ask", "job.yaml", "--workspace", "ws", "--set", "user"), 2, "NAME=VALUE"),
        (("ask", "job.yaml", "--model", "none.model"), 1, "no model file"),
        (("ask", "job.yaml", "--workspace", "ws", "--target", ","), 2, "names none"),
        (("learn", "ws", "--out", "."), 2, "is a folder"),
        (("learn", "job.yaml"), 2, "is not a workspace"),
        (("nodes", "ws", "--job", "job.yaml", "--profile", "1"), 2, "different questions"),
        (("nodes", "ws", "--by-profile"), 2, "--by-profile needs --job-file"),
        (("evaluate", "ws", "--figures", "f", "--per", "colour"), 1, "--per colour"),
    ],
)
def test_wrong_questions_say_what_to_do(
    prophase_here, ws: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = prophase_here(*arguments)
    assert words in " ".join(done.stderr.split())
    assert done.returncode == code


def test_evaluate_draws_errors_and_names_the_worst(prophase_here, ws: Path) -> None:
    done = prophase_here(
        "evaluate", "ws", "--methods", "global-median,backoff-median", "--figures", "figures",
        "--per", "user", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["errors"]["global-median"]["within_ratio"]["20"] <= 1
    assert {row["group"] for row in found["groups"]["rows"]} == {"ann", "bob"}
    assert (ws.parent / "figures" / "error-cdf.png").stat().st_size > 10_000
    done = prophase_here(
        "evaluate", "ws", "--methods", "backoff-median", "--figures", "figures",
        "--per", "profile", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    groups = json.loads(done.stdout)["groups"]
    assert groups["per"] == "profile"
    assert all(row["group"] == "none" or ": " in row["group"] for row in groups["rows"])
