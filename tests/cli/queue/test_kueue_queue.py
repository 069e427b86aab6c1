"""prophase queue for Kueue: a saved queue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.sim.kueue.kueue_objects import cluster_queue, local_queue, saved, workload


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A queue with a past: sixty Workloads of 100 s have ended."""
    works = [
        workload(f"old{n}", "train", 1, created=-5000 - n, began=-4000, ended=-3900, cluster="q")
        for n in range(60)
    ]
    works += [
        workload("now", "train", 8, created=-90, began=-60, cluster="q"),
        workload("next", "train", 8, created=-50),
        workload("last", "train", 8, created=-40),
    ]
    return saved(
        tmp_path / "now",
        workloads=works,
        clusterqueues=[cluster_queue("q", 8)],
        localqueues=[local_queue("train", "q")],
    )


def test_the_commands_answer_for_a_workload(prophase_here: Run, folder: Path) -> None:
    shown = json.loads(prophase_here("queue", "kueue", "--saved", folder, "--json").stdout)
    assert shown["finished"] == 60
    assert shown["waiting"] == 2
    told = json.loads(prophase_here("queue", "eta", "last", "--saved", folder, "--json").stdout)
    # 40 s are left of the one that runs, and the next takes 100
    assert told["p10_s"] == told["p90_s"] == 140.0
    assert told["ahead"] == 1
    why = prophase_here("queue", "why", "next", "--saved", folder, "--format", "csv").stdout
    assert "8 of nvidia.com/gpu in a100 asked, 0 free" in why
    done = prophase_here("queue", "sooner", "next", "--saved", folder)
    assert done.returncode == 2
    assert "Slurm's queues only" in done.stderr


def test_a_folder_of_something_else_is_refused_in_words(prophase_here: Run, folder: Path) -> None:
    (folder / "localqueues.json").write_text("[]")
    done = prophase_here("queue", "kueue", "--saved", folder)
    assert done.returncode == 1
    assert "is not what kubectl get -o json prints" in done.stderr
    (folder / "localqueues.json").unlink()
    done = prophase_here("queue", "kueue", "--saved", folder)
    assert "localqueues.json: there is no such file" in done.stderr
