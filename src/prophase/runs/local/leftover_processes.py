"""All processes of an attempt, grandchildren too, found by a mark in their environment.

Standard library only: supervisors and the tasks of other schedulers run this.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from prophase.runs.usage.process_tree import all_pids, environment_has

#: stands in the environment of every process of an attempt
MARK = "PROPHASE_ATTEMPT"


def kill_marked(folder: str) -> int:
    """Kill every process of an attempt, wherever it has gone; return how many."""
    mark, killed = f"{MARK}={folder}", 0
    for pid in all_pids():
        if pid != os.getpid() and environment_has(pid, mark):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    return killed
