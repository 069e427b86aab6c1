"""A file that cannot be written leaves the old state or the new one; the campaign tries more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_fault_in_a_file_leaves_the_old_state_or_the_new_one() -> None:
    words = ["--operation", "import", "--every", "60", "--kind", "torn", "--kind", "enospc"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.campaign", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    assert set(told["tried"]) == {"torn", "enospc"}
