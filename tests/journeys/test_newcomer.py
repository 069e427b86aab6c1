"""A newcomer with a wheel, a raw export and the README gets a right table of recommendations."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.test_install_lines import installed, wheel
from tests.journeys.raw_exports import (
    PROGRAMS,
    WASTEFUL,
    write_nextflow,
    write_odd_csv,
    write_sacct,
)

assert wheel  # the fixture

MOST_COMMANDS, MOST_CPU_S = 5, 60.0
#: export -> how it is written, and how it names a program
EXPORTS: dict[str, tuple[Callable[[Path], Path], Callable[[str], str]]] = {
    "sacct.txt": (write_sacct, lambda name: name),
    "our jobs.csv": (write_odd_csv, lambda name: f"{name}.sh"),
    "trace.txt": (write_nextflow, lambda name: name.upper()),
}


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and nothing else."""
    return installed(tmp_path_factory.mktemp("newcomer") / "env", wheel, "prophase")


@pytest.mark.parametrize("name", list(EXPORTS))
def test_a_raw_export_becomes_a_right_table_in_two_commands(
    name: str, programs: Path, tmp_path: Path
) -> None:
    write, named = EXPORTS[name]
    write(tmp_path / name)
    out, beside, spent_s = [], [], 0.0
    study = f"{Path(name).stem.split('.')[0]}-study"
    commands = [["study", name], ["size", study, "--format", "json"]]
    assert len(commands) <= MOST_COMMANDS
    for words in commands:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [str(programs / "prophase"), *words],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        assert done.returncode == 0, done.stderr
        out.append(done.stdout)
        beside.append(done.stderr)

    # what was recognised is said before the work, the end is short
    opening = beside[0].partition("2/10")[0]
    assert f"{name} is " in opening
    assert "Grouped by " in opening
    assert "Units" in opening
    lines = out[0].splitlines()
    assert len(lines) <= 12, out[0]
    for word in ("Do:", "Effect:", "Risk:", "Report:"):
        assert any(line.startswith(word) for line in lines), out[0]

    _check_recommendations(json.loads(out[1]), named)
    print(f"{name}: {spent_s:.1f} processor seconds")


#: a column in MB is read as 10^6 bytes, which its reader is told
_GIB = 0.9537


def _check_recommendations(document: dict[str, object], named: Callable[[str], str]) -> None:
    """Wasteful programs are told what they use, with room; the others keep what they have."""
    rows = document["tasks"]
    assert isinstance(rows, list)
    tasks = {row["task"]: row for row in rows}
    for one in PROGRAMS:
        row = tasks[named(one.name)]
        if one.name in WASTEFUL:
            assert _GIB * one.used_gb < row["advice"] < 2 * one.used_gb, row
        else:
            assert row["advice"] >= _GIB * one.used_gb, row
