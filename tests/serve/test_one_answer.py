"""Identical jobs get identical answers at every door: they all use the workspace's one model."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import prophase as ph
from prophase.profile.job_forecast.forecast import say
from prophase.profile.job_forecast.forecast_builder import ask
from prophase.profile.submission.job_file import read_submissions
from prophase.study.workspace_models import answering_model, kept_predictions, learn_models
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS

JOBS = 200
PROGRAMS = ("bert", "ctr", "resnet", "etl", "eval", "tune")
#: neither the method nor the seed that a command would take by itself
METHOD, SEED = "backoff-median", 3


def history() -> pd.DataFrame:
    dice = np.random.default_rng(1)
    rows = np.arange(600)
    program = dice.integers(len(PROGRAMS), size=len(rows))
    duration = 300.0 * (1 + program) * dice.lognormal(sigma=0.3, size=len(rows))
    gpus = np.where(program < 3, 1.0 + program, 0.0)
    return pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in rows],
            "name": np.array(PROGRAMS)[program],
            "user": np.array(["ann", "bob", "eve"])[dice.integers(3, size=len(rows))],
            "group": np.where(program < 3, "nlp", "bio"),
            "queue": np.where(program < 3, "gpu", "cpu"),
            "workload": np.array(PROGRAMS)[program],
            "submit_s": 600.0 * rows,
            "start_s": 600.0 * rows,
            "duration_s": duration,
            "end_s": 600.0 * rows + duration,
            "status": "completed",
            "instances": 1.0,
            "request_cpu_cores": 8.0,
            "request_memory_gib": 32.0,
            "request_gpus": gpus,
            "time_limit_s": 14_400.0,
            "memory_peak_gib": (2.0 + program) * dice.lognormal(sigma=0.05, size=len(rows)),
            "cpu_peak_cores": (1.0 + program) * dice.lognormal(sigma=0.05, size=len(rows)),
            "gpu_util_mean_pct": np.where(gpus > 0, 30.0 * gpus, np.nan),
        }
    )


def random_jobs() -> list[dict[str, Any]]:
    """Jobs such as nobody and everybody submits: known and new users, gaps, odd sizes."""
    dice = np.random.default_rng(7)

    def some(values: list[Any]) -> Any:
        return values[dice.integers(len(values))]

    return [
        {
            "name": some(list(PROGRAMS)),
            "user": some(["ann", "bob", "eve", "new"]),
            "group": some(["nlp", "bio", "hep"]),
            "queue": some(["gpu", "cpu"]),
            "request_cpu_cores": some([1.0, 4.0, 8.0, 48.0]),
            "request_memory_gib": some([1.0, 8.0, 32.0, 500.0]),
            "request_gpus": some([1.0, 2.0, 4.0]),
        }
        for _ in range(JOBS)
    ]


@pytest.fixture(scope="session")
def made_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one") / "ws"
    Workspace.create(folder).store_frames({"jobs": history()}, source="csv", source_hash="h")
    targets = ["duration_s", "gpu_util_mean_pct"]
    learn_models(folder, targets, method=METHOD, seed=SEED)
    settings = 'engine = "duckdb"\n[submit]\nmode = "annotate"\nbudget_ms = 10000\n'
    (folder / "prophase.toml").write_text(settings, encoding="utf-8")
    return folder


@pytest.fixture
def typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """Run a command in this process; return what it printed and what it said beside it."""

    def run(*arguments: str | Path) -> tuple[str, str]:
        from prophase.cli import main

        monkeypatch.setattr(sys, "argv", ["prophase", *map(str, arguments)])
        capsys.readouterr()
        try:
            main.run()
        except SystemExit as leave:
            if leave.code:
                pytest.fail(capsys.readouterr().err)
        said = capsys.readouterr()
        return said.out, said.err

    return run


def _pod(job: dict[str, Any]) -> dict[str, Any]:
    requests = {
        "cpu": f"{job['request_cpu_cores']:g}",
        "memory": f"{job['request_memory_gib']:g}Gi",
        "nvidia.com/gpu": f"{job['request_gpus']:g}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": job["name"],
            "namespace": "ml",
            "labels": {"user": job["user"], "team": job["group"], "queue": job["queue"]},
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        },
    }


def _script(job: dict[str, Any]) -> str:
    return (
        f"#!/bin/bash\n#SBATCH --job-name={job['name']}\n#SBATCH --account={job['group']}\n"
        f"#SBATCH --partition={job['queue']}\n#SBATCH --cpus-per-task="
        f"{job['request_cpu_cores']:g}\n#SBATCH --mem={job['request_memory_gib']:g}G\n"
        f"#SBATCH --gpus-per-node={job['request_gpus']:g}\npython {job['name']}.py\n"
    )


def _ends(answer: dict[str, Any]) -> list[float]:
    return [answer[name] for name in ("value", "low", "high")]


def test_command_python_service_and_dashboard_answer_alike(
    client: TestClient, workspace: Path, tmp_path: Path, typed: Callable[..., tuple[str, str]]
) -> None:
    jobs = random_jobs()
    told = [ph.ask(workspace, job).to_dict() for job in jobs[:5]]
    model = answering_model(workspace)
    told += [ph.ask(model, job).to_dict() for job in jobs[5:]]
    plain = json.loads(json.dumps(told))

    rest = [
        one
        for start in range(0, JOBS, 20)
        for one in client.post("/v1/ask", json={"jobs": jobs[start : start + 20]}).json()["jobs"]
    ]
    assert rest == plain

    path = tmp_path / "jobs.csv"
    pd.DataFrame(jobs[::10]).to_csv(path, index=False)
    out, beside = typed("ask", path, "--workspace", workspace, "--format", "json")
    by_command = [one["targets"] for one in json.loads(out)["jobs"]]
    assert by_command == [one["targets"] for one in plain[::10]]
    assert beside == ""

    for job, one in zip(jobs[::10], told[::10], strict=True):
        page = unescape(client.get("/ask", params=job).text)
        page = re.sub(r"<[^>]+>", "", page).replace("\N{NO-BREAK SPACE}", " ")
        for target in one["targets"]:
            shown = say(target["target"], target["value"])
            assert shown in page, (job, target["target"], shown)


def test_webhook_and_plugin_answer_as_the_command_does(
    client: TestClient, workspace: Path, tmp_path: Path, typed: Callable[..., tuple[str, str]]
) -> None:
    model = answering_model(workspace)
    jobs = random_jobs()
    for place, job in enumerate(jobs):
        manifest = tmp_path / "pod.json"
        manifest.write_text(json.dumps(_pod(job)), encoding="utf-8")
        (asked_job,) = read_submissions(manifest)
        expected = ask(model, asked_job, targets=["duration_s"], brief=True)["duration_s"]
        review = {"uid": f"u{place}", "operation": "CREATE", "object": _pod(job)}
        answer = client.post("/v1/submit/kubernetes", json={"request": review}).json()["response"]
        patch = json.loads(base64.b64decode(answer["patch"]))
        notes: dict[str, str] = {}
        for one in patch:
            if one["path"].endswith("/annotations"):
                notes |= one["value"]
            notes[one["path"].rpartition("/")[2].replace("~1", "/")] = one["value"]
        if expected.abstained:
            assert not any("predicted-duration" in name for name in notes)
        else:
            assert notes["prophase.dev/predicted-duration-seconds"] == f"{expected.value:.0f}"
            ends = f"{expected.low:.0f}-{expected.high:.0f}"
            assert notes["prophase.dev/predicted-duration-range-seconds"] == ends

        script = tmp_path / "job.sbatch"
        script.write_text(_script(job), encoding="utf-8")
        asked = {"script": _script(job), "job": {"user_name": job["user"]}}
        plugin = client.post("/v1/submit/slurm", json=asked).json()["counsel"]
        if place % 40 == 0:
            typed_set = ("--set", f"user={job['user']}", "--format", "json")
            out, _ = typed("ask", script, "--workspace", workspace, *typed_set)
            targets = {one["target"]: one for one in json.loads(out)["jobs"][0]["targets"]}
            assert _ends(plugin["duration_s"]) == _ends(targets["duration_s"])
            out, _ = typed("sbatch", script, "--workspace", workspace, *typed_set)
            by_command = json.loads(out)["counsel"]
            sized = {one["resource"]: one for one in by_command["requests"]}
            assert plugin["requests"]
            for one in plugin["requests"]:
                assert one["ladder"] == sized[one["resource"]]["ladder"]
                assert one["why"] == sized[one["resource"]]["why"]


def test_reported_jobs_count_at_every_door(
    client: TestClient, workspace: Path, tmp_path: Path
) -> None:
    job = {"user": "zoe", "name": "brand-new", "group": "nlp", "request_gpus": 1.0}
    before = ph.ask(workspace, job)["duration_s"].value
    reports = [{**job, "job_id": f"r{n}", "duration_s": 77.0} for n in range(30)]
    assert client.post("/v1/observe", json={"jobs": reports}).status_code in (200, 202)
    client.app.state.library.learn_reported()  # type: ignore[attr-defined]
    by_service = client.post("/v1/ask", json={"jobs": [job]}).json()["jobs"][0]["targets"][0]
    later = ph.ask(workspace, job)["duration_s"]
    assert later.value == by_service["value"] != before


def test_a_model_of_earlier_jobs_still_answers_and_says_so(
    workspace: Path, tmp_path: Path, typed: Callable[..., tuple[str, str]]
) -> None:
    Workspace(workspace).store_frames(
        {"jobs": history().head(300)}, source="csv", source_hash="other", replace=True
    )
    kept = kept_predictions(workspace)
    assert kept.older
    assert kept.model is not None
    path = tmp_path / "job.json"
    path.write_text('{"user": "ann"}', encoding="utf-8")
    _, beside = typed("ask", path, "--workspace", workspace)
    assert "newer jobs count after: prophase learn" in beside


def test_a_workspace_without_a_model_learns_once_and_keeps_it(
    workspace: Path, tmp_path: Path, typed: Callable[..., tuple[str, str]]
) -> None:
    (workspace / PREDICTIONS).unlink()
    path = tmp_path / "job.json"
    path.write_text('{"user": "ann", "name": "bert"}', encoding="utf-8")
    first, beside = typed("ask", path, "--workspace", workspace, "--format", "json")
    assert "Learning from 600 jobs first; kept for the next question" in beside
    again, beside = typed("ask", path, "--workspace", workspace, "--format", "json")
    assert again == first
    assert beside == ""


def test_a_method_asked_for_by_name_is_learnt_and_not_kept(
    workspace: Path, tmp_path: Path, typed: Callable[..., tuple[str, str]]
) -> None:
    before = (workspace / PREDICTIONS).read_bytes()
    path = tmp_path / "job.json"
    path.write_text('{"user": "ann", "name": "bert"}', encoding="utf-8")
    out, beside = typed(
        "ask", path, "--workspace", workspace, "--method", "user-median", "--target", "duration_s"
    )
    assert "it was learnt with backoff-median and seed 3" in beside
    assert "user-median" in out
    assert (workspace / PREDICTIONS).read_bytes() == before
