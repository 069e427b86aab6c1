"""Run the program as a user does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def prophase(tmp_path: Path) -> Run:
    """Run ``prophase ARGUMENTS`` in an empty folder and return what it said."""

    def run(*arguments: str | Path, **options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(Path(sys.executable).parent / "prophase"), *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **options},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def prophase_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Run ``prophase ARGUMENTS`` in this process: quicker, and what it uses can be replaced."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        from prophase.cli import main

        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["prophase", *map(str, arguments)])
        capsys.readouterr()
        try:
            main.run()
            code = 0
        except SystemExit as leave:
            code = int(leave.code or 0)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return run
