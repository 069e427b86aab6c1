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

from prophase.runs.usage.gpu import gpus_here
from prophase.runs.usage.peak_memory import Cadence, SampledMeter
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
    meter = SampledMeter(watched, fresh=False)
    sampler = TreeSampler(watched, meter, gpus=gpus_here())
    # the first look sets what was before aside; only then may the work begin
    lines.add(sampler.sample())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    cadence = Cadence()
    row_pause_s = min(_FIRST_SAMPLE_S, every_s)
    look_s, row_s = time.monotonic() + cadence.pause_s, time.monotonic() + row_pause_s
    while True:
        wait_s = max(0.0, min(look_s, row_s) - time.monotonic())
        if select.select([sys.stdin], [], [], wait_s)[0]:
            break
        if time.monotonic() >= row_s:
            lines.add(sampler.sample())
            row_pause_s = min(2 * row_pause_s, every_s)
            row_s = time.monotonic() + row_pause_s
        else:
            look_s = time.monotonic() + cadence.after(meter.look())
    lines.add(sampler.sample())
    lines.close()


def _forget_peak(pid: int) -> None:
    """Set the kernel's high-water mark back to what is used now, where that is permitted.

    Below a mark left from before, a peak between two samples would go unseen.
    """
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


if __name__ == "__main__":
    main()
