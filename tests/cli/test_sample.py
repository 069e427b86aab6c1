from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.trace.workspace import Workspace

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """1,000 jobs of three workloads, usage of some of them, and a node."""
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in range(1000)],
            "workload": ["bert"] * 600 + ["vgg"] * 300 + ["rl"] * 100,
            "submit_s": np.arange(1000.0),
        }
    )
    usage = pd.DataFrame({"series_id": ["j0", "j1", "j999"] * 2, "time_s": np.arange(6.0)})
    nodes = pd.DataFrame({"node_id": ["n1"]})
    Workspace.create(tmp_path / "ws").store_frames(
        {"jobs": jobs, "usage": usage, "nodes": nodes},
        source="philly",
        source_hash="abc",
        clock="unix",
    )
    return tmp_path / "ws"


def test_a_sample_is_counted_by_stratum(prophase_here, workspace):
    done = prophase_here("sample", workspace, "--size", "100", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["strata"] == [
        {"workload": "bert", "rows": 600, "sampled_rows": 60},
        {"workload": "rl", "rows": 100, "sampled_rows": 10},
        {"workload": "vgg", "rows": 300, "sampled_rows": 30},
        {"workload": "total", "rows": 1000, "sampled_rows": 100},
    ]


def test_a_sample_is_written_to_a_workspace_that_says_how_it_was_made(prophase_here, workspace):
    out = workspace.parent / "small"
    done = prophase_here("sample", workspace, "--size", "100", "--seed", "3", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "Wrote 100 jobs" in done.stdout
    made = Workspace(out)
    jobs = made.read("jobs")
    assert jobs["workload"].value_counts().to_dict() == {"bert": 60, "vgg": 30, "rl": 10}
    assert jobs["submit_s"].is_monotonic_increasing
    entry = made.tables["jobs"]
    assert (entry.seed, entry.clock, entry.source) == (3, "unix", "philly")
    assert "prophase sample" in entry.command
    assert set(made.tables) >= {"jobs", "nodes", "usage"}


def test_the_same_seed_writes_the_same_rows(prophase_here, workspace):
    for name in ("one", "two"):
        prophase_here("sample", workspace, "--size", "50", "--out", workspace.parent / name)
    one, two = (Workspace(workspace.parent / n).read("jobs") for n in ("one", "two"))
    pd.testing.assert_frame_equal(one, two)


def test_files_of_a_source_can_be_sampled_without_a_workspace(prophase_here, tmp_path):
    rows = [f"2017-10-0{1 + n % 5} 01:00:00,{60 + n},1,1,vc{n % 2}" for n in range(100)]
    (tmp_path / "philly.csv").write_text(PHILLY + "\n".join(rows) + "\n")
    done = prophase_here(
        "sample", "philly.csv", "--source", "philly", "--by", "queue", "--size", "10",
        "--format", "csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "queue,rows,sampled_rows", "vc0,50,5", "vc1,50,5", "total,100,10",
    ]  # fmt: skip


def test_an_unknown_column_is_refused_with_a_hint(prophase_here, workspace):
    done = prophase_here("sample", workspace, "--by", "worklod")
    assert done.returncode == 1
    assert "Did you mean 'workload'?" in done.stderr
    assert done.stdout == ""


def test_a_size_beyond_the_table_is_asked_wrongly(prophase_here, workspace):
    done = prophase_here("sample", workspace, "--size", "1001")
    assert done.returncode == 2
    assert "between 1 and the 1,000 rows" in done.stderr


def test_another_sample_does_not_overwrite_without_replace(prophase_here, workspace):
    out = workspace.parent / "small"
    prophase_here("sample", workspace, "--size", "10", "--out", out)
    refused = prophase_here("sample", workspace, "--size", "20", "--out", out)
    assert refused.returncode == 1
    assert "--replace" in refused.stderr
    assert len(Workspace(out).read("jobs")) == 10
    assert (
        prophase_here("sample", workspace, "--size", "20", "--out", out, "--replace").returncode
        == 0
    )
    assert len(Workspace(out).read("jobs")) == 20


def test_a_single_job_is_counted_in_the_singular(prophase_here, tmp_path):
    (tmp_path / "jobs.csv").write_text("job_id,user,submit_s\na,u,0\n")
    done = prophase_here("sample", "jobs.csv", "--by", "user", "--size", "1", "--out", "small")
    assert "Wrote 1 job to small." in done.stdout


def test_jobs_without_a_workload_are_sampled_by_kind(prophase_here, tmp_path):
    rows = [f"{n},user{n % 2},{n}" for n in range(40)]
    (tmp_path / "jobs.csv").write_text("\n".join(["job_id,user,duration_s", *rows]) + "\n")
    prophase_here("import", "jobs.csv", "--workspace", "ws")
    done = prophase_here("sample", "ws", "--size", "10", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert '"by": "kind"' in done.stdout
