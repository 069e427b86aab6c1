"""Sample another process and its tree until it is asked to stop.

Started as ``python -m prophase.runs.usage.sidecar``.

Reads its order as JSON from the command line and stops when its standard input ends, which it
also does when the process that started it is killed. Standard library only.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path

from prophase.runs.usage.cgroup import ControlGroup
from prophase.runs.usage.gpu import gpus_here
from prophase.runs.usage.process_tree import descendants
from prophase.runs.usage.sampler import DurableLines, TreeSampler

_FIRST_SAMPLE_S = 0.1


def main() -> None:
    """Sample until standard input ends, then once more."""
    order = json.loads(sys.argv[1])
    root, every_s = int(order["pid"]), float(order["every_s"])
    own = os.getpid()

    def watched() -> list[int]:
        ours = {own, *descendants(own)}
        return [pid for pid in (root, *descendants(root)) if pid not in ours]

    for pid in watched():
        _forget_peak(pid)
    lines = DurableLines(Path(order["samples"]))
    sampler = TreeSampler(watched, fresh=False, gpus=gpus_here(), group=ControlGroup.own())
    # the first look sets what was before aside; only then may the work begin
    lines.add(sampler.sample(every_s))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    pause_s = min(_FIRST_SAMPLE_S, every_s)
    next_s = time.monotonic() + pause_s
    while True:
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, next_s - time.monotonic()))
        lines.add(sampler.sample(pause_s))
        if ready:
            break
        pause_s = min(2 * pause_s, every_s)
        next_s = time.monotonic() + pause_s
    lines.close()


def _forget_peak(pid: int) -> None:
    """Set the kernel's high-water mark back to what is used now, where that is permitted.

    Below a mark left from before, a peak between two samples would go unseen.
    """
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


if __name__ == "__main__":
    main()
