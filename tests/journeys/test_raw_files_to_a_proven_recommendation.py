"""From raw files to a proven recommendation: through the command line alone, and through HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.cli.conftest import Run, prophase_here

from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings
from prophase.trace.workspace import Workspace

__all__ = ["prophase_here"]
#: of every proof
SEEDS = 2


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A job list in words of its own, and a list of nodes."""
    lines = ["id,process,submitted (s),runtime (s),mem_req_gb,peak_mem_gb,cpus"]
    lines += [
        f"j{i},{'align' if i % 2 else 'sort'},{7200 * i},600,16,{2 + 0.01 * (i % 9)},2"
        for i in range(160)
    ]
    (tmp_path / "jobs.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "nodes.csv").write_text("node_id,cpu_cores,memory_gib,gpus\nn1,8,64,0\n")
    return tmp_path


def imported(run: Run, raw: Path) -> Path:
    guessed = run("import", "csv", raw / "jobs.csv", "--guess")
    (raw / "jobs.toml").write_text(guessed.stdout)
    done = run(
        "import", "csv", raw / "jobs.csv", "-o", f"map={raw / 'jobs.toml'}", "-w", raw / "ws"
    )
    assert done.returncode == 0, done.stderr
    return raw / "ws"


def test_through_the_command_line(prophase_here: Run, raw: Path) -> None:
    workspace = imported(prophase_here, raw)
    assert prophase_here("lint", workspace).returncode == 0
    told = prophase_here("size", workspace, "--export", "json")
    (raw / "recommendation.json").write_text(told.stdout)
    proven = prophase_here(
        "prove", raw / "recommendation.json", "--workspace", workspace,
        "--cluster", raw / "nodes.csv", "--seeds", str(SEEDS),
        "--report", workspace / "reports" / "proof", "--format", "json", "--max-oom", "5%",
    )  # fmt: skip
    assert proven.returncode == 0, proven.stderr
    assert json.loads(proven.stdout)["verdict"]["outcome"] == "pass"
    assert (workspace / "reports" / "proof" / "report.html").stat().st_size > 10_000
    kept = prophase_here("ledger", "add", raw / "recommendation.json", "--workspace", workspace)
    assert kept.returncode == 0, kept.stderr


def test_through_one_command_with_the_same_saving(prophase_here: Run, raw: Path) -> None:
    studied = prophase_here(
        "study", raw / "jobs.csv", "--cluster", raw / "nodes.csv", "--seeds", str(SEEDS),
        "--steps", "lint,sizing,proof", "--out", raw / "study", "--format", "json",
    )  # fmt: skip
    assert studied.returncode == 0, studied.stderr
    found = json.loads(studied.stdout)
    assert not found["cannot"]
    workspace = imported(prophase_here, raw)
    typed = prophase_here(
        "prove", workspace, "--cluster", raw / "nodes.csv", "--seeds", str(SEEDS),
        "--format", "json",
    )  # fmt: skip
    assert found["results"]["proof"]["saving"] == json.loads(typed.stdout)["saving"]
    assert (raw / "study" / "reports" / "study" / "report.html").stat().st_size > 10_000


def test_through_http_with_the_same_result(prophase_here: Run, raw: Path) -> None:
    sent = Workspace.create(raw / "sent").folder
    with TestClient(create_app(sent, ServiceSettings(open=True))) as client:

        def asked(route: str, **body: Any) -> dict[str, Any]:
            task = client.post(f"/v1/{route}", **body).json()
            while task["state"] in ("waiting", "running"):
                task = client.get(f"/v1/tasks/{task['id']}?wait=50").json()
            assert task["state"] == "done", task["error"]
            found: dict[str, Any] = task["result"]
            return found

        def imported_file(name: str) -> dict[str, Any]:
            return asked(f"import?name={name}", content=(raw / name).read_bytes())

        jobs = imported_file("jobs.csv")
        assert jobs["tables"]["jobs"]["kept"] == 160
        assert "peak_mem_gb" in jobs["mapping"]
        assert imported_file("nodes.csv")["tables"]["nodes"]["kept"] == 1
        advice = asked("size", json={})
        proof = asked("prove", json={"advice": advice, "seeds": SEEDS})
    typed = prophase_here(
        "prove", imported(prophase_here, raw), "--cluster", raw / "nodes.csv",
        "--seeds", str(SEEDS), "--format", "json",
    )  # fmt: skip
    told = json.loads(typed.stdout)
    assert proof["verdict"] == told["verdict"]
    assert proof["saving"] == told["saving"]
    assert proof["replays"] == told["replays"]


def test_an_advice_over_http_that_makes_no_sense_is_refused(raw: Path, prophase_here: Run) -> None:
    with TestClient(create_app(imported(prophase_here, raw), ServiceSettings(open=True))) as client:
        assert client.post("/v1/prove", json={"advice": {"tasks": []}}).status_code == 422
        assert client.post("/v1/prove", json={"cluster": "x" * 400}).status_code == 422
        assert client.post("/v1/prove", json={"max_ooom": 0.1}).status_code == 422
