"""All processes of an attempt, grandchildren too, found by a mark in their environment.

Standard library only: supervisors and the tasks of other schedulers run this.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from prophase.runs.usage.process_tree import all_pids, environment_has

#: stands in the environment of every process of an attempt
MARK = "PROPHASE_ATTEMPT"
_PAUSE_S = 0.01


def kill_marked(folder: str) -> int:
    """Kill every process of an attempt, wherever it has gone; return how many.

    A process may start another while the list is read, and shows no environment while it becomes
    another program: the list is read until it held nobody new twice.
    """
    mark, killed, looks = f"{MARK}={folder}", set[int](), 0
    while looks < 2:
        found = {
            pid
            for pid in all_pids()
            if pid not in killed and pid != os.getpid() and environment_has(pid, mark)
        }
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        killed |= found
        looks = 0 if found else looks + 1
        time.sleep(_PAUSE_S)
    return len(killed)
