"""A campaign from the command line, from nothing to a workspace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prophase.trace.workspace import Workspace

PIPELINE = """
name: tiny
scenario: [mib]
sample_every: 1s
node_memory: 100MiB
tasks:
  only:
    command: ["{python}", -S, -c, "import sys; bytearray(int(sys.argv[1]) * 2**20)", "{mib}"]
    memory: 64MiB
"""
SCENARIOS = """
dates: 2024-01-01
scenarios:
  - {scenario: light, mib: 10}
  - {scenario: heavy, mib: 150}
"""
BRANCHES = ("deploy", "check_deploy", "execute", "check_execute", "profile", "check_profile")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    (tmp_path / "scenarios.yaml").write_text(SCENARIOS)
    return tmp_path


def test_a_failed_run_is_seen_given_more_memory_reset_and_exported(files, prophase_here):
    said = prophase_here("runs", "init", "pipeline.yaml")
    assert (said.returncode, "only" in said.stdout) == (0, True)
    said = prophase_here("runs", "register", "scenarios.yaml")
    assert "2 runs added, 0 there already" in said.stdout
    assert "0 runs added, 2 there" in prophase_here("runs", "register", "scenarios.yaml").stdout
    quick = [f"{branch}.interval_s=0.05" for branch in BRANCHES]
    assert prophase_here("runs", "set", *quick).returncode == 0
    assert prophase_here("runs", "export").returncode == 1

    worked = prophase_here("runs", "work")
    assert worked.returncode == 1
    assert "1 failed; see why" in worked.stdout
    failed = json.loads(prophase_here("runs", "status", "--failed", "--format", "json").stdout)
    assert (failed[0]["id"], failed[0]["state"]) == (2, 35)
    assert "out of memory" in failed[0]["notes"]

    more = ["task.only.memory_gib=0.25", "task.only.most_memory_gib=1"]
    assert prophase_here("runs", "set", *more).returncode == 0
    said = prophase_here("runs", "reset", "2", "--to", "17", "--reason", "more memory")
    assert "35" in said.stdout
    worked = prophase_here("runs", "work")
    assert worked.returncode == 0, worked.stdout + worked.stderr
    shown = json.loads(prophase_here("runs", "show", "2", "--format", "json").stdout)
    assert shown["what"] == "finished"
    assert "more memory" in [move["reason"] for move in shown["history"]]
    ids = shown["dag_id"], shown["run_id"]
    (row,) = json.loads(prophase_here("runs", "profile", *ids, "--format", "json").stdout)
    assert (row["task"], row["request_memory_gib"], row["mib"]) == ("only", 0.25, 150)

    said = prophase_here("runs", "export", "--workspace", "ws")
    assert (said.returncode, "jobs" in said.stdout) == (0, True)
    jobs = Workspace(files / "ws").read("jobs")
    assert sorted(jobs["status"]) == ["completed", "completed", "oom", "oom"]
    assert jobs.loc[jobs["status"] == "oom", "after_at_least_gib"].tolist() == [0.0625, 100 / 1024]
    assert prophase_here("lint", "ws").returncode == 0


def test_a_tick_moves_each_run_on(files, prophase_here):
    prophase_here("runs", "init", "pipeline.yaml")
    prophase_here("runs", "register", "scenarios.yaml")
    said = prophase_here("runs", "tick")
    assert "31  executing" in said.stdout
    assert "executing" in prophase_here("runs", "status", "--all").stdout
    assert "0 workers" in prophase_here("runs", "status").stdout
    for run in ("1", "2"):
        assert prophase_here("runs", "reset", run, "--to", "0").returncode == 0
    prophase_here("runs", "set", "deploy.parallel=0", "maintain.interval_s=0.01")
    # nobody waits for what still runs
    prophase_here("runs", "tick")
    assert "0  registered" in prophase_here("runs", "tick").stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["show", "9"], 2, "no run 9"),
        (["reset"], 2, "--all-failed"),
        (["reset", "1", "--to", "31"], 2, "17 (deployed)"),
        (["reset", "1", "--to", "0"], 1, "cannot take 'reset to 0'"),
        (["register", "scenarios.yaml", "--dates", "2024-13-01"], 2, "--dates: '2024-13-01' is no"),
        (["set", "advice=none.json"], 2, "prophase size WS --format json"),
        (["init", "pipeline.yaml", "--database", "sqlite:///other.db"], 1, "already a campaign"),
        (["set", "execute.paralel=1"], 2, "Did you mean"),
        (["set", "task.onli.memory_gib=1"], 2, "Did you mean 'only'"),
        (["profile", "a", "b"], 2, "There is no run 'b'"),
        (["status", "--campaign", "elsewhere"], 1, "prophase runs init"),
        (["init", "none.yaml"], 2, "there is no such file"),
    ],
)
def test_what_is_asked_wrongly_is_answered_in_words(files, prophase_here, words, code, said):
    prophase_here("runs", "init", "pipeline.yaml")
    prophase_here("runs", "register", "scenarios.yaml")
    answer = prophase_here("runs", *words)
    assert said in answer.stderr
    assert answer.returncode == code


def test_a_database_that_is_away_is_waited_for_and_named(files, prophase_here, monkeypatch):
    prophase_here("runs", "init", "pipeline.yaml")
    monkeypatch.setenv("PROPHASE_DATABASE", "postgresql://nobody@127.0.0.1:9/none")
    answer = prophase_here("runs", "work", "--patience", "300ms")
    assert answer.returncode == 1
    assert "does not answer for 0.3 s" in answer.stderr


def test_a_database_that_cannot_be_used_leaves_no_campaign_behind(files, prophase_here):
    wrong = prophase_here("runs", "init", "pipeline.yaml", "--database", "mysql://x/y")
    assert (wrong.returncode, "postgresql://USER@HOST/NAME" in wrong.stderr) == (1, True)
    assert prophase_here("runs", "init", "pipeline.yaml").returncode == 0


def test_runs_are_reset_all_together_or_not_at_all(files, prophase_here):
    prophase_here("runs", "init", "pipeline.yaml")
    prophase_here("runs", "register", "scenarios.yaml")
    prophase_here("runs", "set", "execute.parallel=0")
    prophase_here("runs", "tick")
    assert "no run 9" in prophase_here("runs", "reset", "1", "9", "--to", "0").stderr
    shown = json.loads(prophase_here("runs", "show", "1", "--format", "json").stdout)
    assert shown["what"] == "deployed"
