"""The example package is found by its entry points and keeps what every policy promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "own-policies"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the package is installed: its source and its metadata are there."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("site")
    info = folder / "prophase_own-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {at}" for name, at in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    paths = [str(folder), str(PACKAGE / "src")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def test_they_pass_the_checks_that_all_of_their_kind_share(installed: dict[str, str]) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-n", "0", "-vv", "-p", "no:cacheprovider",
            "tests/contracts/test_every_policy.py", "tests/contracts/test_every_sizer.py",
            "-k", "widest_first or emptiest_first or last-and-half",
        ],
        cwd=ROOT, env=installed, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    for name in ("widest_first", "emptiest_first", "last-and-half"):
        assert re.search(rf"{name}.* PASSED", done.stdout), f"{name} was not tested"


def test_they_can_be_named_on_the_command_line(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_s,duration_s,request_gpus\na,0,60,1\nb,1,60,1\nc,2,60,2\n"
    )
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "prophase"), "simulate", "jobs.csv",
            "--source", "csv",
            "--cluster", "1x2", "--order", "widest_first", "--place", "emptiest_first",
        ],
        cwd=tmp_path, env=installed, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "widest_first" in done.stdout
