"""What the service answers is what the command line answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fastapi.testclient import TestClient

from prophase.serve.background.task_kinds import result_of
from prophase.trace.workspace import Workspace

Ask = Callable[..., Any]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return what ``prophase ARGUMENTS --format json`` prints, or what it says on stderr."""

    def ask(*arguments: str | Path) -> Any:
        from prophase.cli import main

        typed = ["prophase", *map(str, arguments), "--format", "json"]
        monkeypatch.setattr(sys, "argv", typed)
        capsys.readouterr()
        try:
            main.run()
        except SystemExit as leave:
            if leave.code:
                return capsys.readouterr().err.strip().removeprefix("prophase: ")
        return json.loads(capsys.readouterr().out)

    return ask


def job_file(folder: Path, job: dict[str, Any]) -> Path:
    path = folder / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    return path


@pytest.fixture
def job(workspace: Path) -> dict[str, Any]:
    """A job as it was submitted."""
    from prophase.profile.predict.submit_columns import submitted

    row = submitted(Workspace(workspace).read("jobs")).iloc[-1].dropna()
    return {str(name): value for name, value in row.items()}


def test_ask(client: TestClient, cli: Ask, workspace: Path, tmp_path: Path, job: Any) -> None:
    said = client.post("/v1/ask", json={"jobs": [job]})
    assert said.status_code == 200
    assert said.json() == cli("ask", job_file(tmp_path, job), "--history", workspace)
    assert said.json()["jobs"][0]["profile"] is not None


def test_ask_for_some_targets(
    client: TestClient, cli: Ask, workspace: Path, tmp_path: Path
) -> None:
    said = client.post("/v1/ask", json={"jobs": [{"user": "u1"}], "targets": ["duration_s"]})
    asked = job_file(tmp_path, {"user": "u1"})
    told = cli("ask", asked, "--history", workspace, "--target", "duration_s")
    assert said.json() == told


def test_predict_many(client: TestClient, cli: Ask, workspace: Path, tmp_path: Path) -> None:
    from prophase.profile.predict.submit_columns import submitted

    table = Workspace(workspace).read("jobs")
    jobs = submitted(table).head(12).assign(job_id=table["job_id"])
    path = tmp_path / "new.csv"
    jobs.to_csv(path, index=False)
    rows = [
        {name: value for name, value in row.items() if not pd.isna(value)}
        for row in jobs.to_dict("records")
    ]
    for targets in (["duration_s"], None):
        said = client.post("/v1/predict", json={"jobs": rows, "targets": targets}).json()
        said = said["predictions"]
        words = "all" if targets is None else ",".join(targets)
        told = cli("predict", path, "--history", workspace, "--target", words)["predictions"]
        assert len(said) == len(told)
        for one, other in zip(said, told, strict=True):
            numbers = {
                name: pytest.approx(value, rel=1e-5)
                for name, value in other.items()
                if isinstance(value, float)
            }
            assert one == {**other, **numbers}


def test_profiles(client: TestClient, cli: Ask, workspace: Path) -> None:
    assert client.get("/v1/profiles").json() == cli("profile", "show", workspace)
    assert client.get("/v1/profiles/0").json() == cli("profile", "show", workspace, "0")


def test_an_unknown_profile_is_told_in_the_same_words(
    client: TestClient, cli: Ask, workspace: Path
) -> None:
    said = client.get("/v1/profiles/77")
    assert said.status_code == 404
    assert said.json()["detail"] == cli("profile", "show", workspace, "77")


def test_nodes(client: TestClient, cli: Ask, workspace: Path, tmp_path: Path, job: Any) -> None:
    said = client.post("/v1/nodes", json={"profile": 0, "enough": 3}).json()
    assert said == cli("nodes", workspace, "--profile", "0", "--enough", "3")
    assert said["node_types"][0]["rank"] == 1
    said = client.post("/v1/nodes", json={"job": job, "enough": 3}).json()
    asked = job_file(tmp_path, job)
    assert said == cli("nodes", workspace, "--job", asked, "--enough", "3")
    question = {"job": job, "enough": 3, "by_profile": True}
    said = client.post("/v1/nodes", json=question).json()
    assert said == cli("nodes", workspace, "--job", asked, "--enough", "3", "--by-profile")


def test_phases(client: TestClient, cli: Ask, workspace: Path) -> None:
    usage = Workspace(workspace).read("usage")
    metrics = [name for name in usage if name not in ("series_id", "time_s")]
    series = [
        {
            "series_id": name,
            "time_s": part["time_s"].tolist(),
            "metrics": {metric: part[metric].tolist() for metric in metrics},
        }
        for name, part in usage.groupby("series_id", sort=False)
    ]
    said = client.post("/v1/phases", json={"series": series, "samples": False}).json()
    told = cli("phase", "label", workspace, workspace)
    # the command names the table it read; the service was sent the series
    assert {**said, "data_hash": ""} == {**told, "data_hash": ""}
    known = client.get("/v1/phases").json()
    assert known == cli("phase", "show", workspace)


@pytest.mark.parametrize(
    ("route", "wanted", "typed"),
    [
        (
            "simulate",
            {"cluster": "30x8", "order": "shortest", "leave_out_unfit": True},
            ["simulate", "--cluster", "30x8", "--order", "shortest", "--leave-out-unfit"],
        ),
        (
            "whatif",
            {"cluster": "30x8", "load": [1.5], "seeds": 2, "block_h": 6, "leave_out_unfit": True},
            "whatif --cluster 30x8 --load 1.5 --seeds 2 --block-h 6 --workers 1 "
            "--leave-out-unfit".split(),
        ),
        (
            "why",
            {"cluster": "30x8", "queue": "strict", "leave_out_unfit": True, "only_shares": True},
            "why --cluster 30x8 --queue strict --leave-out-unfit --only-shares".split(),
        ),
        (
            "validate",
            {"cluster": "30x8", "leave_out_unfit": True, "warm_up_s": 60},
            "validate --cluster 30x8 --leave-out-unfit --warm-up 60s".split(),
        ),
        (
            "eta",
            {
                "new_job": {"request_gpus": 1},
                "cluster": "30x8",
                "draws": 10,
                "check": 0,
                "leave_out_unfit": True,
            },
            "eta --gpus 1 --cluster 30x8 --draws 10 --check 0 --leave-out-unfit".split(),
        ),
        (
            "queueing",
            {"model": "trace", "servers": 400},
            "queueing trace --servers 400".split(),
        ),
        (
            "queueing",
            {"model": "mmc", "arrivals": "45/s", "service": "1s", "servers": 50, "over": ["1s"]},
            "queueing mmc --arrivals 45/s --service 1s --servers 50 --over 1s".split(),
        ),
        (
            "sweep",
            {
                "cluster": ["30x8"],
                "order": ["fifo", "shortest"],
                "seeds": 2,
                "block_h": 6,
                "leave_out_unfit": True,
            },
            "sweep --cluster 30x8 --order fifo,shortest --seeds 2 --block 6h --workers 1 "
            "--leave-out-unfit".split(),
        ),
        (
            "size",
            {"risk": 0.05, "min_saving": 0.2},
            "size recommend --risk 5% --min-saving 20%".split(),
        ),
        (
            "learn",
            {"targets": ["duration_s"], "method": "backoff-median"},
            "learn --target duration_s --method backoff-median".split(),
        ),
    ],
)
def test_long_work_has_the_result_of_the_command(
    client: TestClient,
    cli: Ask,
    workspace: Path,
    route: str,
    wanted: dict[str, Any],
    typed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    started = client.post(f"/v1/{route}", json=wanted)
    assert started.status_code == 202, started.json()
    # done here, too: the process of the task is tried out elsewhere
    task = client.delete(f"/v1/tasks/{started.json()['id']}").json()
    result = result_of(task["kind"], workspace, task["arguments"], lambda step, percent: None)
    command = typed[:2] if typed[0] in ("size", "queueing") else typed[:1]
    told = cli(*command, *([] if "mmc" in command else [workspace]), *typed[len(command) :])
    told.pop("notes", None)
    told.pop("registered", None)
    plain = json.loads(json.dumps(result, default=float))
    plain.pop("notes", None)
    if route == "sweep":
        # the command also says how many cells an earlier run had kept, and where they lie
        assert len(plain.pop("remarks")) == len(told.pop("remarks")) - 2
    assert plain == told


@pytest.mark.parametrize(
    ("route", "wanted", "message"),
    [
        ("simulate", {"order": "shortst"}, "order 'shortst' is unknown. Did you mean 'shortest'?"),
        ("why", {"place": "worst"}, "place 'worst' is unknown. Did you mean 'worst_fit'?"),
        ("eta", {"job": "1", "cluster": "banana"}, "'banana' is not understood. Write nodes x GPU"),
        ("whatif", {"policy": ["shortest:nowhere"]}, "place 'nowhere' is unknown."),
        ("whatif", {"target": "p95_wait<"}, "target 'p95_wait<' is not understood. Write mean"),
        ("sweep", {"order": ["fifo", "fiffo"]}, "order 'fiffo' is unknown. Did you mean 'fifo'?"),
        ("sweep", {"cluster": ["own", "2y8"]}, "'2y8' is not understood. Write nodes x GPUs"),
        ("validate", {"cluster": "0x8"}, "is no cluster. Write at least one node"),
    ],
)
def test_words_that_mean_nothing_are_refused_before_a_task_begins(
    client: TestClient, route: str, wanted: dict[str, Any], message: str
) -> None:
    said = client.post(f"/v1/{route}", json=wanted)
    assert said.status_code == 422
    assert message in said.json()["detail"]
    assert client.get("/v1/tasks").json() == []


def test_what_fails_later_names_the_fields_of_the_request(client: TestClient) -> None:
    wanted = {"cluster": "30x8", "queue": "easy", "leave_out_unfit": True}
    failed = client.post("/v1/simulate", json=wanted, params={"wait": 50})
    assert failed.status_code == 422
    assert "Name another column with estimate, such as duration_s" in failed.json()["detail"]
