from __future__ import annotations

import pytest

from prophase import units
from prophase.study.submission.sbatch import RecommendedOption, command_of, rewritten


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("#SBATCH --mem 64G --time=1:00", "#SBATCH --time=1:00"),
        ("#SBATCH --mem=64G", None),
        ("#SBATCH --mem-per-gpu=8G -N 2", "#SBATCH -N 2"),
        ("#SBATCH --comment='a b' --mem=1G", "#SBATCH '--comment=a b'"),
    ],
)
def test_only_the_advised_option_leaves_a_line(line: str, left: str | None) -> None:
    made = rewritten(f"{line}\nrun\n", [RecommendedOption("mem", "2G", "why")]).splitlines()
    assert made[:2] != [line]
    assert f"#{line}" in made
    assert [one for one in made if one.startswith("#SBATCH ")][1:] == ([left] if left else [])
    assert made[-1] == "run"


def test_short_forms_of_time_are_replaced_too() -> None:
    made = rewritten("#SBATCH -t60 -J a\nrun\n", [RecommendedOption("time", "0:30:00", "w")])
    assert "#SBATCH -J a" in made.splitlines()
    assert "#SBATCH --time=0:30:00" in made


@pytest.mark.parametrize(
    ("script", "program"),
    [
        ("srun -n 4 ./bin/vasp_std", "vasp_std"),
        ("export A=1\ncd /data\nOMP_NUM_THREADS=4 python3 -u scripts/fit.py x", "scripts/fit.py"),
        ("echo hello", None),
        ("python 'unclosed", None),
    ],
)
def test_the_program_is_found_behind_its_launchers(script: str, program: str | None) -> None:
    assert command_of(f"#!/bin/sh\n{script}\n") == (program and program.rsplit("/", 1)[-1])


def test_times_are_rounded_up_to_minutes() -> None:
    assert [units.slurm_time(s) for s in (1, 60, 61, 86_400)] == [
        "0:01:00", "0:01:00", "0:02:00", "1-00:00:00",
    ]  # fmt: skip
