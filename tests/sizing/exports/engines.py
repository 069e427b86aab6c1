"""The engines that exports are tried in, and what is exported to all of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from prophase.sizing.exports.kind_requests import KindRequests

VENV = Path(__file__).parents[3] / ".venv-engines"
ASKED = [
    KindRequests(
        "align",
        {"memory_gib": (0.1, 0.2, 0.3), "cpu_cores": (1.0, 1.5), "time_limit_s": (90.0, 180.0)},
        why="40 runs used at\nmost 10% of the request",
    ),
    KindRequests(
        "train",
        {"memory_gib": (2.0, 4.0, 16.0), "gpus": (0.5, 1.0, 2.0), "gpu_memory_gib": (8.0,)},
    ),
]


def engine(name: str) -> Path:
    """Return a program of the environment, or skip the test where there is none."""
    if not list(VENV.glob(".ready-*")):
        pytest.skip("no engines; tools/engines-env installs them into .venv-engines")
    program = VENV / "bin" / name
    if not program.exists():
        pytest.skip(f"no {name} in .venv-engines; tools/engines-env says why")
    return program


def run(*words: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder."""
    return subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False,
        timeout=300, env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **environment},
    )  # fmt: skip
