from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: PROPHASE_KILLS=200 kills that many times with real processes as well
KILLS = {"paper": 200, "local": int(os.environ.get("PROPHASE_KILLS", "12"))}


@pytest.mark.parametrize("kind", ["paper", "local"])
def test_whatever_is_killed_no_run_is_lost_and_none_is_done_twice(kind, database_url, tmp_path):
    program = Path(__file__).with_name("kill_campaign.py")
    arguments = [str(tmp_path), database_url, str(KILLS[kind]), "1", kind]
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["left_running"] == 0
    assert sum(found["killed"].values()) >= KILLS[kind]
