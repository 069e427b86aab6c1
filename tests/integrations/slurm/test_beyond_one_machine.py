"""Sweeps and workflows that run on the nodes of a real Slurm."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.sizing.exports.engines import engine
from tools.slurm_referee import SlurmReferee, SlurmSite

from prophase.sizing.exports import write_for
from prophase.sizing.exports.kind_requests import KindRequests

PROPHASE = str(Path(sys.executable).parent / "prophase")
#: enough seeds for intervals
SWEEP = ("--cluster", "1x8,2x8", "--order", "fifo,shortest", "--seeds", "8", "--format", "json")
#: starts workers as jobs of Slurm, and runs a sweep on them
DASK = """
import sys
from dask_jobqueue import SLURMCluster
from prophase.cli.main import app

if __name__ == "__main__":
    with SLURMCluster(
        cores=1, memory="1GiB", processes=1, walltime="00:10:00", python=sys.executable,
        interface="v0", log_directory="dask", scheduler_options={"dashboard_address": ":0"},
    ) as cluster:
        cluster.scale(jobs=2)
        cluster.wait_for_workers(2)
        address = cluster.scheduler_address.removeprefix("tcp://")
        app([*sys.argv[1:], "--workers", f"dask://{address}"], standalone_mode=False)
"""
SNAKEFILE = """
rule align:
    output: "aligned"
    shell: "echo {resources.mem_mb} >> gave; "
        "python3 -c 'b = bytearray(700 << 20)' && touch {output}"

rule report:
    input: "aligned"
    output: "told"
    shell: "cp {input} {output}"
"""


@pytest.fixture(scope="module")
def slurm(slurm_of: Callable[[SlurmSite], SlurmReferee]) -> SlurmReferee:
    lines = ("SchedulerParameters=bf_interval=2,sched_interval=2,sched_min_interval=100000",)
    return slurm_of(SlurmSite(nodes=2, conf=lines))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    submit = np.sort(rng.integers(0, 9 * 86400, 500))
    table = pd.DataFrame({"timestamp": pd.Timestamp("2017-10-09") + pd.to_timedelta(submit, "s")})
    table["duration"] = rng.exponential(3000, 500).round() + 1
    table["num_gpus"] = rng.choice([1, 2, 4], 500)
    table["gpu_time"], table["cluster"] = table["duration"] * table["num_gpus"], "a"
    path = tmp_path_factory.mktemp("sweep") / "philly.csv"
    table.to_csv(path, index=False)
    return path


def rows_of(printed: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(printed)["rows"]
    return found


@pytest.fixture(scope="module")
def locally(slurm: SlurmReferee, trace: Path) -> list[dict[str, Any]]:
    """What the sweep says when this machine alone runs it."""
    out = str(trace.parent / "local")
    words = (PROPHASE, "sweep", str(trace), *SWEEP, "--workers", "1", "--out", out)
    return rows_of(slurm.run(*words, timeout=400).stdout)


def test_an_array_runs_a_sweep_with_the_same_result(
    slurm: SlurmReferee, trace: Path, locally: list[dict[str, Any]]
) -> None:
    out = trace.parent / "array"
    words = (PROPHASE, "sweep", str(trace), *SWEEP, "--out", str(out))
    told = slurm.run(*words, "--export", "slurm-array", "--tasks", "3").stderr
    assert "36 cells in 3 tasks: sbatch" in told
    job = slurm.run("sbatch", "--parsable", str(out / "array.sbatch")).stdout.strip()
    ended = slurm.wait(job, seconds=400)
    assert list(ended.values()) == ["COMPLETED"] * 3, (out / "parts" / "1.log").read_text()
    assert len(list((out / "parts").glob("*-of-3"))) == 3
    whole = json.loads(slurm.run(*words, timeout=300).stdout)
    assert whole["rows"] == locally
    assert any("0 cells replayed, 36 taken" in one for one in whole["remarks"])


def test_dask_workers_on_slurm_run_a_sweep_with_the_same_result(
    slurm: SlurmReferee, trace: Path, locally: list[dict[str, Any]]
) -> None:
    drive = trace.parent / "drive.py"
    drive.write_text(DASK)
    words = ("sweep", str(trace), *SWEEP, "--out", str(trace.parent / "dask"))
    done = slurm.run(sys.executable, str(drive), *words, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert rows_of(done.stdout) == locally
    named = slurm.run("sacct", "-X", "-n", "-P", "-o", "JobName").stdout.split()
    assert named.count("dask-worker") >= 2


def test_snakemake_tasks_on_slurm_are_killed_climb_the_ladder_and_finish(
    slurm: SlurmReferee, tmp_path: Path
) -> None:
    snakemake = engine("snakemake")
    # Snakemake itself runs in the job, beside its command
    asked = [KindRequests("align", {"memory_gib": (0.4, 0.6, 1.4), "time_limit_s": (600.0,)})]
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "sizes").mkdir()
    (tmp_path / "sizes" / "config.yaml").write_text(write_for("snakemake", asked).text)
    done = slurm.run(
        str(snakemake), "--directory", str(tmp_path), "--snakefile", str(tmp_path / "Snakefile"),
        "--profile", str(tmp_path / "sizes"), "--executor", "slurm", "--jobs", "2", "told",
        "--default-resources", "slurm_account=root", "slurm_partition=main", "mem_mb=900",
        "--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2",
        "--latency-wait", "20",
        env={"HOME": str(tmp_path)}, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert (tmp_path / "told").exists()
    assert (tmp_path / "gave").read_text().split() == ["430", "645", "1504"]
    # the job of Snakemake ends as a failure; its step says what killed it
    states = slurm.run("sacct", "-n", "-P", "-o", "State").stdout.split()
    assert states.count("OUT_OF_MEMORY") >= 2, states
