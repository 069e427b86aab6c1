from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

JOBS = 1000
SWEEP = (
    "--cluster", "1x8,2x8", "--order", "fifo,shortest", "--block", "24h", "--workers", "2",
    "--out", "s",
)  # fmt: skip


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    submit = np.sort(rng.integers(0, 8 * 86400, JOBS))
    table = pd.DataFrame({"timestamp": pd.Timestamp("2017-10-09") + pd.to_timedelta(submit, "s")})
    table["duration"] = rng.exponential(1500, JOBS).round() + 1
    table["num_gpus"] = rng.choice([1, 2, 4], JOBS)
    table["gpu_time"], table["cluster"] = table["duration"] * table["num_gpus"], "a"
    path = tmp_path / "philly.csv"
    table.to_csv(path, index=False)
    return path


#: a shell that starts the tests in the background has Ctrl-C ignored
PROPHASE = """
import signal
from prophase.cli.main import run

signal.signal(signal.SIGINT, signal.default_int_handler)
if __name__ == "__main__":
    run()
"""


def start(dump: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a sweep and return when it has finished a few cells, and is not done."""
    running = subprocess.Popen(
        [sys.executable, "-c", PROPHASE, "sweep", dump, *arguments],
        cwd=dump.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    cells = dump.parent / "s" / "cells.jsonl"
    while running.poll() is None and (not cells.exists() or cells.read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    assert running.poll() is None, running.communicate()
    return running


def test_a_killed_sweep_keeps_what_it_finished_and_goes_on(prophase_here, dump, tmp_path):
    arguments = (*SWEEP, "--seeds", "14")
    running = start(dump, *arguments)
    workers = psutil.Process(running.pid).children(recursive=True)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    cells = tmp_path / "s" / "cells.jsonl"
    kept = cells.read_bytes().count(b"\n")
    assert 3 <= kept < 60
    # workers do not outlive the one they work for
    assert psutil.wait_procs(workers, timeout=60)[1] == []
    done = prophase_here("sweep", dump, *arguments, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert f"{60 - kept} cells replayed, {kept} taken from an earlier run" in done.stdout
    lines = [json.loads(line) for line in cells.read_text().splitlines()]
    assert len(lines) == len({line["key"] for line in lines}) == 60
    for name in ("results.csv", "results.parquet", "pareto.png"):
        assert (tmp_path / "s" / name).stat().st_size > 0


def test_parts_run_apart_make_the_whole(prophase_here, dump, tmp_path):
    words = (
        "sweep",
        dump,
        "--cluster",
        "1x8,2x8",
        "--seeds",
        "2",
        "--block",
        "24h",
        "--workers",
        "1",
    )
    alone = prophase_here(*words, "--out", "alone", "--format", "json")
    told = prophase_here(*words, "--export", "slurm-array", "--tasks", "4", "--out", "s")
    assert "6 cells in 4 tasks: sbatch s/array.sbatch" in told.stderr
    script = (tmp_path / "s" / "array.sbatch").read_text()
    assert "#SBATCH --array=1-4" in script
    assert f"--chdir={tmp_path}" in script
    for part in ("1/2", "2/2"):
        said = prophase_here(*words, "--part", part, "--out", "s").stderr
        assert f"Part {part.replace('/', ' of ')}: 3 cells" in said
    done = prophase_here(*words, "--out", "s", "--format", "json")
    whole, separate = json.loads(done.stdout), json.loads(alone.stdout)
    assert whole["rows"] == separate["rows"]
    assert any("0 cells replayed, 6 taken" in one for one in whole["remarks"])


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(dump):
    running = start(dump, *SWEEP, "--seeds", "5000")
    workers = psutil.Process(running.pid).children(recursive=True)
    said = None
    # Python loses a signal that comes while an object is being thrown away; people press again
    for _ in range(5):
        running.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            _, said = running.communicate(timeout=60)
            break
    assert said is not None
    assert running.returncode == 1
    assert "cells are kept in s; the same command runs the rest" in said
    assert "Traceback" not in said
    assert psutil.wait_procs(workers, timeout=60)[1] == []


def test_a_plan_file_and_options_on_top_of_it(prophase_here, dump, tmp_path):
    (tmp_path / "p.toml").write_text('cluster = ["4x8"]\nseeds = 5\n[policy]\nplace = "fgd"\n')
    done = prophase_here(
        "sweep", dump, "--plan", "p.toml", "--seeds", "2", "--workers", "1", "--format", "json",
        "--vary", "estimate=duration_s", "--load", "0.5,1.0", "--measure", "p95_wait_s,gpus",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["seeds"] == 2
    assert [(row["place"], row["load"]) for row in answer["rows"]] == [("fgd", 0.5), ("fgd", 1.0)]
    assert {"p95_wait_s", "p95_wait_s_low"} <= set(answer["rows"][0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no node table"),
        (("--cluster", "4x8", "--order", "shortst"), "Did you mean 'shortest'"),
        (("--cluster", "4x8", "--order", ""), "empty"),
        (("--cluster", "4x8,"), "empty"),
        (("--cluster", "4x8", "--load", "lots"), "not a number"),
        (("--cluster", "4x8", "--vary", "estimate"), "NAME=VALUE"),
        (("--cluster", "4x8", "--vary", "preemt=on"), "no setting"),
        (("--cluster", "4x8", "--vary", "preempt=chekpoint=3"), "Did you mean 'checkpoint'"),
        (("--cluster", "4x8", "--workers", "some"), "not understood"),
        (("--cluster", "4x8", "--export", "slurm-aray"), "Did you mean 'slurm-array'"),
        (("--cluster", "4x8", "--part", "3"), "write for example 2/8"),
        (("--cluster", "4x8", "--part", "3/2"), "write for example 2/8"),
        (("--cluster", "1x2"), "fit on no node"),
        (("--cluster", "4x8", "--out", "."), "not the folder of a sweep"),
        (("--cluster", "4x8", "--plan", "none.toml"), "none.toml"),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_anything_runs(
    prophase_here, dump, tmp_path, arguments, message
):
    done = prophase_here("sweep", dump, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert not (tmp_path / "s").exists()
