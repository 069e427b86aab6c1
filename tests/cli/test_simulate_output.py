from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

ROWS = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:00,100.0,1,100.0,a
2017-10-09 07:00:10,100.0,1,100.0,b
2017-10-09 07:00:20,7200.0,2,14400.0,b
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "philly.csv"
    path.write_text(ROWS)
    (tmp_path / "prices.toml").write_text('currency = "EUR"\n[gpu_hour]\nGPU = 36.0\n')
    return path


def test_everything_is_written_in_one_go(prophase_here, dump, tmp_path):
    done = prophase_here(
        "simulate", dump, "--cluster", "1x2", "--by", "queue", "--prices", "prices.toml",
        "--out", "jobs.parquet", "--attempts-out", "attempts.json", "--page", "report.html",
        "--figures", "figures", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["by"] == "queue"
    assert [(row["queue"], row["jobs"]) for row in answer["classes"]] == [("b", 2), ("a", 1)]
    assert answer["cost"]["allocated"] == pytest.approx(36.0 * (100 + 100 + 14400) / 3600)
    assert len(pd.read_parquet(tmp_path / "jobs.parquet")) == 3
    attempts = pd.read_json(tmp_path / "attempts.json")
    assert attempts["gpu_ids"].tolist() == ["0", "1", "0 1"]
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "figures" / "queue.png").is_file()
    assert "3 attempt rows to attempts.json" in done.stderr


def test_the_page_is_the_answer_in_html_with_figures_theory_and_origin(prophase_here, dump):
    page = prophase_here(
        "simulate", dump, "--cluster", "1x2", "--theory", "--seed", "7", "-f", "html"
    ).stdout
    for told in ("of the jobs waited", "<svg", "By class", "Beside queueing theory",
                 "How far this reaches", "data hash", "<dt>seed</dt><dd>7</dd>"):  # fmt: skip
        assert told in page
    words = prophase_here("simulate", dump, "--cluster", "1x2", "-f", "markdown").stdout
    assert "## By class" in words


def test_classes_are_printed_below_all_jobs_and_listed_in_csv(prophase_here, dump):
    shown = prophase_here("simulate", dump, "--cluster", "1x2", "--by", "class").stdout
    assert "By class" in shown
    assert "long, high GPU" in shown
    listed = prophase_here("simulate", dump, "--cluster", "1x2", "--by", "gpus", "-f", "csv").stdout
    assert "\njobs of gpus 1,2\n" in listed
    assert "gpu_hours.useful," in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "quue"), "Did you mean 'queue'"),
        (("--prices", "none.toml"), "no such price file"),
        (("--attempts-out", "a.xlsx"), ".csv, .csv.gz, .parquet, .json"),
        (("--out", "nowhere/a.csv"), "nowhere does not exist"),
        (("--page", "."), "is a folder"),
        (("--figures", "philly.csv"), "is a file"),
        (("--semantics", "pai", "--figures", "x"), "its own measures only"),
        (("--protocol", "openb", "--by", "user"), "its own measures only"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_replay(prophase_here, dump, arguments, message):
    done = prophase_here("simulate", dump, "--cluster", "1x2", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_every_table_says_beside_it_where_it_comes_from(prophase_here, dump, tmp_path):
    def origin(*command, beside):
        done = prophase_here(*command)
        assert done.returncode == 0, done.stderr
        told = json.loads((tmp_path / beside).read_text())
        assert told["command"].startswith(f"prophase {command[0]} ")
        assert told["data_hash"]
        assert told["version"]
        for name, digest in told["sha256"].items():
            content = (tmp_path / beside).with_name(name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest
        return told

    nodes = ("--cluster", "1x2")
    for name in ("jobs.csv", "jobs.parquet"):
        told = origin(
            "simulate", dump, *nodes, "--seed", "7", "--out", name, beside=f"{name}.provenance.json"
        )
        assert told["seed"] == 7
    assert pd.read_csv(tmp_path / "jobs.csv")["job_id"].size == 3
    told = origin("why", dump, *nodes, "--out", "tables", beside="tables/provenance.json")
    assert {"jobs.csv", "causes.csv"} < set(told["sha256"])
    again = origin(
        "sweep", dump, *nodes, "--order", "fifo,shortest", "--seeds", "1", "--block", "5s",
        "--workers", "1", "--out", "swept", beside="swept/provenance.json",
    )  # fmt: skip
    assert {"results.csv", "cells.parquet"} < set(again["sha256"])
    assert again["data_hash"] == told["data_hash"]
    streamed = prophase_here("whatif", dump, *nodes, "--policy", "shortest", "-f", "csv")
    assert streamed.stdout.startswith("rank,scenario")
    said = streamed.stderr.partition("Provenance: ")[2].splitlines()[0]
    assert json.loads(said)["data_hash"] == told["data_hash"]


def test_a_replay_is_kept_in_the_workspace_and_shown_again(prophase_here, dump, tmp_path):
    made = prophase_here("import", "philly", dump, "--workspace", "ws")
    assert made.returncode == 0, made.stderr
    done = prophase_here("simulate", "ws", "--cluster", "1x2", "--save-as", "base")
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "ws" / "reports" / "base"
    assert len(pd.read_parquet(kept / "jobs.parquet")) == 3
    origin = json.loads((kept / "jobs.parquet.provenance.json").read_text())
    assert origin["command"] == "prophase simulate ws --cluster 1x2 --save-as base"
    assert "of the jobs waited" in prophase_here("report", "ws", "base").stdout
    other = prophase_here("whatif", "ws", "--cluster", "1x2", "--load", "2", "--save-as", "../base")
    assert other.returncode == 2
    assert "give it a name of letters" in other.stderr
    # before any work: the cluster is not even looked at
    taken = prophase_here("whatif", "ws", "--cluster", "none", "--load", "2", "--save-as", "base")
    assert taken.returncode == 2
    assert "under this name. Choose another." in taken.stderr
