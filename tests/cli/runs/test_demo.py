from __future__ import annotations

from prophase.trace.workspace import Workspace


def test_the_example_runs_unattended_from_nothing_to_exported_rows(prophase_here, tmp_path):
    said = prophase_here("runs", "demo", "example", "--quick")
    assert said.returncode == 0, said.stderr
    workspace = Workspace(tmp_path / "example" / "ws")
    jobs, usage = workspace.read("jobs"), workspace.read("usage")
    assert jobs.loc[jobs["status"] == "completed", "task"].nunique() == 27
    trained = jobs[jobs["task"] == "train_trees"].sort_values("attr_attempt")
    assert trained["status"].tolist() == ["oom", "oom", "completed"]
    assert (trained["memory_peak_gib"].iloc[-1] - 220 / 1024) / (220 / 1024) < 0.1
    assert set(usage["series_id"]) <= set(jobs["job_id"])
    assert "2 times memory ran out and was lifted" in said.stdout
