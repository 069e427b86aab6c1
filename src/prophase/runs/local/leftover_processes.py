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
#: looks in a row that find nobody new
_LOOKS = 3


def kill_marked(folder: str) -> int:
    """Kill every process of an attempt, wherever it has gone; return how many.

    A process may start another while the list is read, and shows no environment while it becomes
    another program: the list is read until it held nobody new three times.
    """
    mark, killed, looks = f"{MARK}={folder}", set[int](), 0
    while looks < _LOOKS:
        found = _carriers(mark, killed)
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        killed |= found
        looks = 0 if found else looks + 1
        time.sleep(_PAUSE_S)
    return len(killed)


def _carriers(mark: str, killed: set[int]) -> set[int]:
    """Return who carries a mark, those included that were started while others were looked at."""
    found, seen = set[int](), {os.getpid(), *killed}
    while fresh := set(all_pids()) - seen:
        found |= {pid for pid in sorted(fresh, reverse=True) if environment_has(pid, mark)}
        seen |= fresh
    return found
