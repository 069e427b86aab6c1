"""prophase queue: a saved queue, and a real one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tools.slurm_referee import SlurmReferee

SLURM = Path(__file__).parents[2] / "sim" / "slurm"
SAVED = ("--saved", SLURM / "queue")
HISTORY = ("--history", SLURM / "history")


def answer(done: object) -> dict[str, object]:
    assert done.returncode == 0, done.stderr  # type: ignore[attr-defined]
    found: dict[str, object] = json.loads(done.stdout)  # type: ignore[attr-defined]
    return found


def test_a_saved_queue_is_shown_by_partition_and_by_job(prophase_here: Run) -> None:
    shown = prophase_here("queue", "slurm", *SAVED)
    assert shown.returncode == 0, shown.stderr
    assert "short" in shown.stdout
    jobs = prophase_here("queue", "slurm", *SAVED, "--waiting", "--format", "csv")
    assert len(jobs.stdout.splitlines()) == 15


def test_a_start_is_forecast_and_other_requests_are_tried(prophase_here: Run) -> None:
    jobs = prophase_here("queue", "slurm", *SAVED, "--waiting", "--format", "csv").stdout
    job = jobs.splitlines()[6].split(",")[0]
    found = answer(
        prophase_here(
            "queue", "eta", job, *SAVED, *HISTORY, "--source", "sacct", "--draws", "10",
            "--check", "0", "--json",
        )
    )  # fmt: skip
    assert found["p10_s"] <= found["p50_s"] <= found["p90_s"]  # type: ignore[operator]
    tried = prophase_here("queue", "sooner", job, *SAVED)
    assert "time limit 50%" in tried.stdout
    why = prophase_here("queue", "why", job, *SAVED)
    assert "without the jobs ahead" in why.stdout
    compared = prophase_here("queue", "whatif", *SAVED, "--down", "n[1-4]", "--instead", "shortest")
    assert "4 nodes down" in compared.stdout


def test_a_queue_that_cannot_be_had_is_explained(prophase_here: Run, tmp_path: Path) -> None:
    gone = prophase_here("queue", "slurm", "--saved", tmp_path)
    assert gone.returncode != 0
    assert "there is no such file" in gone.stderr
    nothing = prophase_here("queue", "whatif", *SAVED)
    assert "name an order (--instead shortest)" in nothing.stderr


def test_without_slurms_programs_the_message_says_where_to_run_it(
    prophase_here: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = prophase_here("queue", "slurm")
    assert "scontrol is not installed here" in done.stderr
    program = tmp_path / "scontrol"
    program.write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    done = prophase_here("queue", "slurm")
    assert "slurmctld does not answer (Unable to contact slurm controller)" in done.stderr
    assert "scontrol ping" in done.stderr


def test_the_queue_of_a_real_slurm_is_run_forward(
    prophase_here: Run, real_slurm: SlurmReferee, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", f"{real_slurm.bin}:{os.environ['PATH']}")
    first = real_slurm.sbatch("-N4", "--exclusive", "-t2", wrap="sleep 100", user="ann")
    second = real_slurm.sbatch("-N4", "--exclusive", "-t1", wrap="sleep 1", user="bob")
    third = real_slurm.sbatch("-N1", "-n2", "-t1", wrap="sleep 1", user="ann")
    try:
        real_slurm._wait_for(
            "the first job",
            lambda: (
                real_slurm.run("squeue", "-h", "-j", first, "-o", "%T").stdout.strip() == "RUNNING"
            ),
        )
        shown = answer(prophase_here("queue", "slurm", "--out", tmp_path / "now", "--json"))
        assert (shown["running"], shown["waiting"]) == (1, 2)
        why = prophase_here("queue", "why", second, "--saved", tmp_path / "now", "--json")
        assert why.returncode == 0, why.stderr
        rows = json.loads(why.stdout)
        # without history it runs until its limit of two minutes
        assert 60 < rows[0]["start_s"] < 140
        whatif = prophase_here("queue", "whatif", "--instead", "shortest", "--down", "n1")
        assert "never start" in whatif.stderr
    finally:
        real_slurm.run("scancel", first, second, third)
        real_slurm.wait(first, second, third)
