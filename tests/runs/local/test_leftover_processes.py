from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from prophase.runs.local.leftover_processes import MARK, kill_marked
from prophase.runs.usage.process_tree import all_pids, environment_has


def marked(folder: str) -> list[int]:
    return [pid for pid in all_pids() if environment_has(pid, f"{MARK}={folder}")]


def test_processes_that_start_others_while_they_are_looked_for_are_all_ended(tmp_path):
    folder = str(tmp_path)
    # each of them starts the next and ends: a single look at the list would miss the newest
    relay = 'if [ "$1" -gt 0 ]; then sh -c "$0" "$0" $(($1 - 1)) & fi; [ "$1" -lt 1 ] || sleep 0.02'
    started = subprocess.Popen(
        ["sh", "-c", relay, relay, "3000"],
        env={**os.environ, MARK: folder},
        start_new_session=True,
    )
    try:
        assert kill_marked(folder) >= 1
        assert not marked(folder)
    finally:
        for pid in marked(folder):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        started.wait()
