from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import Run

from prophase.trace.workspace import Workspace

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=train -A nlp
#SBATCH --mem-per-cpu=4G --cpus-per-task=4   # plenty
#SBATCH -t 4:00:00
#SBATCH -p gpu

module load cuda
srun python train.py --epochs 3
#SBATCH --mem=1G
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    rows = np.arange(80)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in rows],
            "name": "train",
            "user": np.where(rows % 2, "ann", "bob"),
            "group": "nlp",
            "queue": "gpu",
            "submit_s": 1300.0 * rows,
            "duration_s": np.where(rows % 2, 600.0, 1200.0),
            "status": "completed",
            "request_cpu_cores": 4.0,
            "request_memory_gib": 16.0,
            "time_limit_s": 14_400.0,
            "memory_peak_gib": 2.0 + 0.1 * (rows % 5),
        }
    )
    workspace = Workspace.create(tmp_path / "ws")
    workspace.store_frames({"jobs": jobs}, source="csv", source_hash="h", seed=0)
    (tmp_path / "train.sbatch").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def test_advised_lines_are_ready_to_copy_with_their_reasons(here: Path, prophase_here: Run) -> None:
    said = prophase_here("sbatch", "train.sbatch", "--workspace", "ws", "--set", "user=ann")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    memory = next(line for line in lines if line.startswith("#SBATCH --mem="))
    assert 2458 <= int(memory.partition("=")[2].removesuffix("M")) < 4096
    assert any(line.startswith("#SBATCH --time=0:") for line in lines)
    assert any("40 runs used at most" in line for line in lines)
    assert any(line.startswith("# stays: no cpu is recommended") for line in lines)
    assert (here / "train.sbatch").read_text(encoding="utf-8") == SCRIPT


def test_a_copy_has_the_lines_and_keeps_the_old_ones_as_comments(
    here: Path, prophase_here: Run
) -> None:
    asked = ["sbatch", "train.sbatch", "--workspace", "ws", "--apply", "--format", "json"]
    asked += ["--set", "user=ann"]
    said = prophase_here(*asked)
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["command"] == "train.py"
    assert {one["option"] for one in found["advised"]} == {"mem", "time"}
    copy = (here / "train.recommended.sbatch").read_text(encoding="utf-8").splitlines()
    assert copy[0] == "#!/bin/bash"
    assert "#SBATCH --job-name=train -A nlp" in copy
    assert "##SBATCH --mem-per-cpu=4G --cpus-per-task=4   # plenty" in copy
    assert "#SBATCH --cpus-per-task=4" in copy
    assert "##SBATCH -t 4:00:00" in copy
    # Slurm reads no options after the first command
    assert copy[-1] == "#SBATCH --mem=1G"
    # the copy may be made again, another file is not touched
    assert prophase_here(*asked).returncode == 0
    assert prophase_here(*asked, "--out", "train.sbatch").returncode == 2


def test_after_a_kill_more_is_advised(here: Path, prophase_here: Run) -> None:
    def memory(attempt: int) -> float:
        said = prophase_here(
            "sbatch", "train.sbatch", "--workspace", "ws", "--format", "json",
            "--attempt", str(attempt), "--set", "user=ann",
        )  # fmt: skip
        advised = json.loads(said.stdout)["advised"]
        return float(next(o["value"] for o in advised if o["option"] == "mem").removesuffix("M"))

    assert memory(1) < memory(2) < memory(3) == 16 * 1024


def test_what_cannot_be_advised_is_refused_in_words(here: Path, prophase_here: Run) -> None:
    (here / "plain.sh").write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    said = prophase_here("sbatch", "plain.sh", "--workspace", "ws")
    assert (said.returncode, "no #SBATCH lines" in said.stderr) == (1, True)
    said = prophase_here("sbatch", "absent.sh", "--workspace", "ws")
    assert (said.returncode, "no such file" in said.stderr) == (2, True)
    said = prophase_here("sbatch", "train.sbatch", "--workspace", "nowhere")
    assert "not a workspace" in said.stderr
    said = prophase_here("sbatch", "train.sbatch", "--workspace", "ws", "--set", "user")
    assert "NAME=VALUE" in said.stderr
    (here / "binary.sh").write_bytes(b"\xff\xfe\x00#SBATCH")
    said = prophase_here("sbatch", "binary.sh", "--workspace", "ws")
    assert "is not text" in said.stderr


def test_whole_nodes_and_unknown_jobs_keep_their_lines(here: Path, prophase_here: Run) -> None:
    (here / "whole.sbatch").write_text(
        "#!/bin/sh\n#SBATCH -A nlp -J train --exclusive --mem=0 -t 60\nrun\n", encoding="utf-8"
    )
    said = prophase_here(
        "sbatch", "whole.sbatch", "--workspace", "ws", "--apply", "--set", "user=ann"
    )
    assert "memory: the job takes whole nodes" in said.stdout
    (here / "new.sbatch").write_text("#!/bin/sh\n#SBATCH -A bio --mem=8G\nrun\n", encoding="utf-8")
    said = prophase_here("sbatch", "new.sbatch", "--workspace", "ws", "--apply")
    assert "no finished job of 'bio/" in said.stdout
    assert "no copy was written" in said.stderr
    assert not (here / "new.recommended.sbatch").exists()
