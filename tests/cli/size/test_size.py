from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    count = 60
    table = pd.DataFrame(
        {
            "task_id": range(count),
            "hash": [f"aa/{row:06d}" for row in range(count)],
            "native_id": range(count),
            "process": ["ALIGN", "SORT"] * 30,
            "tag": [f"s{row}" for row in range(count)],
            "name": "x",
            "status": "COMPLETED",
            "exit": 0,
            "cpus": 2,
            "memory": 32 * 2**30,
            "time": 3_600_000,
            "submit": [1_700_000_000_000 + 60_000 * row for row in range(count)],
            "start": [1_700_000_000_000 + 60_000 * row for row in range(count)],
            "complete": [1_700_000_000_000 + 60_000 * row + 50_000 for row in range(count)],
            "realtime": 50_000,
            "peak_rss": (2**30 * random.lognormal(1.0, 0.05, count)).astype(int),
            "rchar": (2**30 * random.lognormal(0.0, 0.3, count)).astype(int),
        }
    )
    path = tmp_path / "trace_small.csv"
    table.to_csv(path, index=False)
    return path


def test_size_is_short_for_size_advise(prophase_here, trace: Path) -> None:
    short = prophase_here("size", trace, "--risk", "2%", "--format", "json")
    long = prophase_here("size", "advise", trace, "--risk", "0.02", "--format", "json")
    assert short.returncode == 0, short.stderr
    assert short.stdout == long.stdout
    found = json.loads(short.stdout)
    assert {row["task"] for row in found["tasks"]} == {"ALIGN", "SORT"}
    assert all(row["advice"] < 5 for row in found["tasks"])


def test_the_table_says_what_is_saved_and_what_comes_next(prophase_here, trace: Path) -> None:
    said = prophase_here("size", trace).stdout
    assert "2 of 2 tasks have a recommendation" in said
    assert "Next: prophase size" in said


def test_an_export_is_all_that_goes_to_stdout(prophase_here, trace: Path) -> None:
    done = prophase_here("size", trace, "--export", "nextflow")
    assert done.stdout.startswith("process {")
    assert "2 tasks have a recommendation" in done.stderr


def test_explain_shows_the_ladder_and_draws_it(prophase_here, trace: Path, tmp_path: Path) -> None:
    done = prophase_here("size", trace, "--explain", "ALIGN", "--figure", "align.png")
    assert "Predicted peak" in done.stdout
    assert (tmp_path / "align.png").stat().st_size > 5000
    unknown = prophase_here("size", trace, "--explain", "ALIGNN")
    assert unknown.returncode == 2
    assert "Did you mean 'ALIGN'" in unknown.stderr


@pytest.mark.parametrize("risk", ["much", "150%", "0"])
def test_a_risk_that_is_none_is_refused(prophase_here, trace: Path, risk: str) -> None:
    done = prophase_here("size", trace, "--risk", risk)
    assert done.returncode == 2
    assert "1%" in done.stderr


def test_replay_reports_every_sizer(prophase_here, trace: Path) -> None:
    done = prophase_here(
        "size", "replay", trace, "--sizers", "request,krr,default", "--protocol", "timeline",
        "--track", "strict", "--format", "json",
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert [row["sizer"] for row in found["sizers"]] == ["request", "krr", "default"]
    assert found["sizers"][0]["relative"] == 1.0
    assert {"waste_h", "waste_half_h", "failures", "oom_share", "utilisation", "most_attempts"} <= {
        *found["sizers"][2]
    }
    assert prophase_here("size", "replay", trace, "--sizers", "kr").returncode == 2


def test_watch_answers_line_by_line_and_survives_nonsense(
    prophase_here, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        '{"task": "ALIGN", "features": {"request_gib": 32}}',
        "nonsense",
        '{"task": "ALIGN", "peak_gib": 9.0, "runtime_h": 0.1}',
        '{"task": "ALIGN", "features": {"request_gib": 32}, "last_gib": 5.0}',
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    done = prophase_here("size", "watch", trace, "--outcomes", "outcomes.jsonl")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0]["request_gib"] < 5
    assert "error" in answers[1]
    assert answers[2] == {"task": "ALIGN", "learnt": 1}
    assert answers[3]["request_gib"] > 5
    assert (tmp_path / "outcomes.jsonl").read_text().count("\n") == 1


def test_a_history_without_requests_gets_sizes_but_no_savings(prophase_here, trace: Path) -> None:
    pd.read_csv(trace).drop(columns=["memory"]).to_csv(trace, index=False)
    done = prophase_here("size", trace)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 tasks have a recommendation and have no request today" in done.stdout
    assert "nan" not in done.stdout


def test_several_resources_are_exported_together_and_what_is_left_out_is_said(
    prophase_here, trace: Path
) -> None:
    done = prophase_here("size", trace, "--resource", "memory,time", "--export", "slurm")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("#SBATCH --mem=") == done.stdout.count("#SBATCH --time=") == 2
    every = prophase_here("size", trace, "--resource", "all", "--export", "ray")
    assert "'memory': " in every.stdout
    assert "Left out, the time limit: Ray has no request for it (2 kinds)." in every.stderr
    none = prophase_here("size", trace, "--resource", "time", "--export", "ray")
    assert none.returncode == 2
    assert "the time limit: Ray has no request for it" in none.stderr
    unknown = prophase_here("size", trace, "--export", "slrum")
    assert unknown.returncode == 2
    assert "Did you mean 'slurm'" in unknown.stderr


def test_a_trace_where_all_stays_says_so_and_where_to_look(prophase_here, trace: Path) -> None:
    table = pd.read_csv(trace)
    table.assign(memory=table["peak_rss"].max()).to_csv(trace, index=False)
    said = prophase_here("size", trace).stdout
    assert "0 of 2 tasks have a recommendation; 2 keep their request." in said
    assert "Next: prophase assess" in said


def test_a_replay_takes_what_the_trace_measures_and_says_how_jobs_are_grouped(
    prophase_here, trace: Path
) -> None:
    pd.read_csv(trace).drop(columns="peak_rss").to_csv(trace, index=False)
    done = prophase_here("size", "replay", trace, "--sizers", "request,krr")
    assert done.returncode == 0, done.stderr
    assert "60 tasks, time, online protocol" in done.stdout
    assert "waste in h of limit x h of run" in done.stdout
    assert "Grouped by task; --by changes it." in done.stdout


def test_a_table_in_words_of_its_own_is_read_and_the_guess_is_told(
    prophase_here, tmp_path: Path
) -> None:
    at = np.arange(120)
    team = np.array(["vision", "nlp"])[at % 2]
    table = pd.DataFrame({"namespace": team, "pod": [f"train-{number:08x}" for number in at]})
    table["image"], table["phase"] = "reg.io/train:v1", "Succeeded"
    began = pd.Timestamp("2026-03-01", tz="UTC") + pd.to_timedelta(97 * at, unit="min")
    table["created"] = table["started"] = began.strftime("%Y-%m-%dT%H:%M:%SZ")
    table["finished"] = (began + pd.Timedelta("20min")).strftime("%Y-%m-%dT%H:%M:%SZ")
    table["memory_request"] = "64Gi"
    table["memory_max_bytes"] = np.where(at % 2, 30, 12) * 2**30 + at * 2**20
    path = tmp_path / "pods.csv"
    table.to_csv(path, index=False)
    done = prophase_here("size", path, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert "guessed from their names" in done.stderr
    advice = {row["tenant"]: row["advice"] for row in json.loads(done.stdout)["tasks"]}
    assert 12 < advice["vision"] < 20
    assert 30 < advice["nlp"] < 40
