from __future__ import annotations

import json
from pathlib import Path

import pytest

ROWS = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:00,100.0,1,100.0,a
2017-10-09 07:00:10,300.0,2,600.0,b
2017-10-09 07:00:20,100.0,1,100.0,b
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "philly.csv").write_text(ROWS)
    return tmp_path


def test_a_plan_gives_the_answer_of_the_same_options(prophase_here, folder):
    (folder / "traces" / "plan.yaml").write_text(
        "trace: philly.csv\ncluster: 1x2\norder: shortest\npreempt: {checkpoint: 10min}\n"
        "leave-out-unfit: true\nset: {queue: strict}\n"
    )
    plan = prophase_here("simulate", "traces/plan.yaml", "--format", "json")
    typed = prophase_here(
        "simulate", "traces/philly.csv", "--cluster", "1x2", "--order", "shortest", "--preempt",
        "checkpoint=10min", "--leave-out-unfit", "--set", "queue=strict", "--format", "json",
    )  # fmt: skip
    assert plan.returncode == 0, plan.stderr
    assert json.loads(plan.stdout) == json.loads(typed.stdout)


def test_options_on_the_command_line_go_before_the_plan(prophase_here, folder):
    (folder / "plan.toml").write_text(
        'trace = "traces/philly.csv"\ncluster = "1x2"\norder = "shortest"\n'
    )
    done = prophase_here("simulate", "plan.toml", "--order", "smallest_gpu_time", "-f", "json")
    assert json.loads(done.stdout)["order"] == "smallest_gpu_time"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cluster: 1x2", "names no trace"),
        ("trace: traces/philly.csv\nordr: fifo", "Did you mean 'order'"),
        ("trace: [", "is not YAML"),
        ("trace: traces/philly.csv\ncluster: 1x2\nleave_out_unfit: 3", "true or false"),
        ("trace: traces/philly.csv\ncluster: 1x2\nnoise: much", "is a number"),
        ("trace: none.csv\ncluster: 1x2", "none.csv"),
    ],
)
def test_a_plan_that_is_wrong_says_what_and_where(prophase_here, folder, text, message):
    (folder / "plan.yaml").write_text(text)
    done = prophase_here("simulate", "plan.yaml")
    assert done.returncode in (1, 2)
    assert message in done.stderr
