"""One question, one answer: every door says the same of what a task should ask for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import prophase as ph
from prophase.cli.main import app
from prophase.errors import ParameterError
from prophase.runs.recommended_ladders import read_recommended_ladders
from prophase.serve.background.task_functions import recommend_sizes
from prophase.serve.pages import page_results
from prophase.sizing.recommender import Recommender, learn_recommender
from prophase.sizing.resources import SMALLEST_GIB
from prophase.study.proof.candidate import Candidate, read_candidate
from prophase.study.submission.job_recommender import JobRecommender
from prophase.study.workspace_models import learn_models
from prophase.trace.identity.job_identity import with_identity
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import REQUESTS

Answers = dict[str, float]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tasks: one asks for far too much, one is killed at its limit, one is right."""
    at, random = np.arange(360), np.random.default_rng(3)
    task = np.array(["align", "killed", "right"])[at % 3]
    need = np.array([2.0, 5.0, 7.5])[at % 3] * random.lognormal(0.0, 0.04, len(at))
    killed = (task == "killed") & (at % 2 == 0)
    jobs = pd.DataFrame({"job_id": [f"j{i}" for i in at], "task": task, "submit_s": 3600.0 * at})
    jobs["duration_s"] = 900.0
    jobs["request_memory_gib"] = np.where(task == "align", 16.0, np.where(task == "killed", 5.0, 8))
    jobs["memory_peak_gib"] = np.where(killed, 5.0, np.where(task == "killed", 4.8, need))
    jobs["status"] = np.where(killed, "oom", "completed")
    folder = tmp_path_factory.mktemp("one") / "ws"
    Workspace.create(folder).store_frames({"jobs": jobs}, source="test", source_hash="1")
    return folder


def command(workspace: Path, *options: str) -> str:
    found = CliRunner().invoke(app, ["size", str(workspace), *options], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def of_rows(rows: list[dict[str, object]]) -> Answers:
    return {str(row["task"]): float(str(row["advice"])) for row in rows}


def by_command(workspace: Path) -> Answers:
    return of_rows(json.loads(command(workspace, "--format", "json"))["tasks"])


def by_python(workspace: Path) -> Answers:
    return of_rows(ph.size(workspace).to_dict()["tasks"])


def by_service(workspace: Path) -> Answers:
    asked = {
        "risk": 0.01,
        "min_runs": 10,
        "min_saving": 0.0,
        "max_oom": None,
        "resource": "memory",
        "prior": "none",
        "min_memory_gib": SMALLEST_GIB,
    }
    found = recommend_sizes(workspace, asked, lambda step, percent: None)
    return of_rows(found["tasks"])


def by_page(workspace: Path) -> Answers:
    asked = {"risk": "1", "least": "0", "resource": "memory"}
    found = page_results.size(workspace, asked, lambda step, percent: None)
    return of_rows(found["values"]["tasks"])


def by_job(workspace: Path) -> Answers:
    """What a submitted job is told: its own request where that stays."""
    teller = JobRecommender(requests=learn_recommender(Workspace(workspace).read("jobs")))
    asks = {"align": 16.0, "killed": 5.0, "right": 8.0}
    answers = {}
    for task, request in asks.items():
        found = teller.counsel({"task": task, "memory": request}, resources=["memory"])
        told = found.of("memory")
        assert told is not None
        answers[task] = told.ladder[0] if told.change else request
    return answers


def by_proof(workspace: Path) -> Answers:
    made = ph.size(workspace)
    now = {one.task: one.now for one in made.tasks}
    tasks = Candidate.made(made).tasks.values()
    return {one.task: now[one.task] if one.keep else one.ladder[0] for one in tasks}


def by_export(workspace: Path) -> Answers:
    file = workspace.parent / "recommendation.json"
    file.write_text(command(workspace, "--export", "json"))
    now = {one.task: one.now for one in ph.size(workspace).tasks}
    tasks = read_candidate(file).tasks.values()
    return {one.task: now[one.task] if one.keep else one.ladder[0] for one in tasks}


def by_pipeline(workspace: Path) -> Answers:
    """What a run of a pipeline asks for; tasks that are not named keep their request."""
    learn_recommender(Workspace(workspace).read("jobs")).save(workspace / REQUESTS)
    ladders = read_recommended_ladders(workspace)
    now = {one.task: one.now for one in ph.size(workspace).tasks}
    return {task: ladders[task][0] if task in ladders else now[task] for task in now}


@pytest.mark.parametrize(
    "door",
    [by_python, by_service, by_page, by_job, by_proof, by_export, by_pipeline],
    ids=lambda door: door.__name__,
)
def test_every_door_says_what_the_command_says(
    workspace: Path, door: Callable[[Path], Answers]
) -> None:
    expected = by_command(workspace)
    found = door(workspace)
    assert found == pytest.approx(expected, rel=1e-3)


def test_the_command_lowers_raises_and_keeps(workspace: Path) -> None:
    found = by_command(workspace)
    assert found["align"] < 4.0
    assert found["killed"] > 5.0
    assert found["right"] == 8.0


@pytest.fixture(scope="module")
def shared_gpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task that needs a quarter of a GPU, on nodes that give sevenths."""
    at = np.arange(60)
    jobs = pd.DataFrame({"job_id": at.astype(str), "task": "serve", "submit_s": 7200.0 * at})
    jobs["duration_s"], jobs["request_gpus"] = 900.0, 1.0
    jobs["gpu_util_mean_pct"] = 20.0 + at % 5
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8.0], "gpu_type": ["A100"]})
    nodes["features"] = "1g.5gb|2g.10gb"
    folder = tmp_path_factory.mktemp("gpus") / "ws"
    frames = {"jobs": jobs, "nodes": nodes}
    Workspace.create(folder).store_frames(frames, source="test", source_hash="2")
    return folder


def test_every_door_gives_the_part_of_a_gpu_that_nodes_have(shared_gpus: Path) -> None:
    rows = json.loads(command(shared_gpus, "--resource", "gpu", "--format", "json"))["tasks"]
    expected = of_rows(rows)["serve"]
    assert expected == pytest.approx(2 / 7)
    asked = {"risk": 0.01, "min_runs": 10, "min_saving": 0.0, "max_oom": None, "prior": "none"}
    asked |= {"min_memory_gib": SMALLEST_GIB}
    served = recommend_sizes(shared_gpus, {**asked, "resource": "gpu"}, lambda step, percent: None)
    paged = page_results.size(
        shared_gpus, {"risk": "1", "least": "0", "resource": "gpu"}, lambda step, percent: None
    )
    learn_models(shared_gpus, ["duration_s"], method="global-median")
    teller = JobRecommender(requests=Recommender.load(shared_gpus / REQUESTS))
    told = teller.counsel({"task": "serve", "gpus": 1}).of("gpu")
    proof = ph.prove(shared_gpus, resource="gpu", splits=0, seeds=0)
    found = {
        "python": of_rows(ph.size(shared_gpus, resource="gpu").to_dict()["tasks"])["serve"],
        "service": of_rows(served["tasks"])["serve"],
        "page": of_rows(paged["values"]["tasks"])["serve"],
        "submission": told.ladder[0] if told else None,
        "proof": 1 - proof.totals[0].saved.value,
    }
    # a replay counts thousandths of a GPU
    assert found == pytest.approx(dict.fromkeys(found, expected), rel=2e-3)


def test_every_door_takes_a_least_amount_of_memory(tmp_path: Path) -> None:
    at = np.arange(40)
    jobs = pd.DataFrame({"job_id": at.astype(str), "task": "tick", "submit_s": 7200.0 * at})
    jobs["duration_s"], jobs["request_memory_gib"] = 900.0, 0.25
    jobs["memory_peak_gib"] = 0.003
    folder = tmp_path / "ws"
    Workspace.create(folder).store_frames({"jobs": jobs}, source="test", source_hash="4")
    said = "--format", "json"
    rows = json.loads(command(folder, *said, "--min-memory", "64M"))["tasks"]
    assert of_rows(rows)["tick"] == 0.0625
    assert of_rows(json.loads(command(folder, *said))["tasks"])["tick"] == SMALLEST_GIB
    python = ph.size(folder, min_memory_gib=0.0625).to_dict()["tasks"]
    assert of_rows(python)["tick"] == 0.0625
    (folder / "prophase.toml").write_text(
        f'{(folder / "prophase.toml").read_text()}\n[requests]\nmin_memory = "64M"\n'
    )
    learn_models(folder, ["duration_s"], method="global-median")
    held = Recommender.load(folder / REQUESTS)
    job = {"task": "tick", "request_memory_gib": 0.25}
    assert held.recommend(job, ["memory"])[0].ladder[0] == 0.0625
    assert not held.recommend({**job, "request_memory_gib": 0.05}, ["memory"])[0].change
    with pytest.raises(ParameterError, match="least memory"):
        ph.size(folder, min_memory_gib=-1.0)


def test_every_door_takes_a_prior(tmp_path: Path) -> None:
    """A team with five runs of a task that another team ran often."""
    at = np.arange(65)
    jobs = pd.DataFrame({"job_id": at.astype(str), "task": "align", "submit_s": 7200.0 * at})
    jobs["user"] = np.where(at < 60, "ann", "bob")
    jobs["duration_s"], jobs["request_memory_gib"] = 900.0, 16.0
    jobs["memory_peak_gib"] = 4.0 + 0.1 * (at % 3)
    jobs = with_identity(jobs, by="user,task")
    folder = tmp_path / "ws"
    workspace = Workspace.create(folder)
    workspace.store_frames({"jobs": jobs}, source="test", source_hash="3")
    by = ("--by", "user,task", "--format", "json")

    def bob(rows: list[dict[str, object]]) -> float:
        return next(float(str(row["advice"])) for row in rows if row["tenant"] == "bob")

    assert bob(json.loads(command(folder, *by))["tasks"]) == 16.0
    expected = bob(json.loads(command(folder, *by, "--prior", "kind"))["tasks"])
    assert expected < 6.0
    python = ph.size(folder, by="user,task", prior="kind")
    assert bob(python.to_dict()["tasks"]) == expected
    (folder / "prophase.toml").write_text(
        f'{(folder / "prophase.toml").read_text()}\n[requests]\nprior = "kind"\n'
    )
    learn_models(folder, ["duration_s"], method="global-median")
    held = Recommender.load(folder / REQUESTS)
    job = {"user": "bob", "task": "align", "request_memory_gib": 16.0}
    assert held.recommend(job, ["memory"])[0].ladder[0] == pytest.approx(expected)
    proofs = [
        ph.prove(jobs, prior=prior, kind=["user", "task"], splits=0, seeds=0)
        for prior in ("none", "kind")
    ]
    assert [proof.advised_jobs for proof in proofs] == [60, 65]


#: what computes a request; everybody else asks the recommender
ENGINES = (
    "least_waste", "ladder_from_peaks", "live_sizing", "kind_runs", "backtest", "job_request",
)  # fmt: skip


def test_no_door_computes_a_request_in_any_other_way() -> None:
    source = Path(ph.__file__).parent
    wrong = []
    for file in source.rglob("*.py"):
        inside = file.relative_to(source)
        if inside.parts[0] == "sizing":
            continue
        text = file.read_text(encoding="utf-8")
        wrong += [
            f"{inside}: sizing.{engine}"
            for engine in ENGINES
            if f"prophase.sizing.{engine}" in text
            # what a job is told is a result of the recommender, which doors may name
            and f"from prophase.sizing.{engine} import RequestRecommendation\n" not in text
        ]
    assert wrong == []
