"""Turn looks at a process tree into samples, and samples into durable lines of a file.

Standard library only: this runs beside tasks.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from prophase.json_types import JsonObject
from prophase.runs.usage.gpu import Gpus
from prophase.runs.usage.peak_memory import MemoryMeter
from prophase.runs.usage.process_tree import TreeUse, io_bytes, look

GIB = 2**30

Sample = dict[str, float]


class TreeSampler:
    """Samples a set of processes that may change from one look to the next.

    Parameters
    ----------
    pids : function
        Returns the processes that are meant, at each look.
    meter : MemoryMeter
        What keeps account of their memory.
    gpus : optional
        Where GPU use comes from.
    """

    def __init__(
        self, pids: Callable[[], list[int]], meter: MemoryMeter, *, gpus: Gpus | None = None
    ) -> None:
        self._pids = pids
        self._meter = meter
        self._gpus = gpus
        self._began_io = io_bytes("self")
        self._before = self._totals(look(pids()))
        self.cpu_peak_cores = 0.0

    def sample(self) -> Sample:
        """Return what the tree uses now, and since the last sample."""
        now = time.time()
        memory = self._meter.look()
        tree = look(self._pids())
        totals = self._totals(tree)
        passed_s = max(totals["mono_s"] - self._before["mono_s"], 1e-6)
        delta = {name: max(0.0, totals[name] - self._before[name]) for name in totals}
        self._before = totals
        cores = delta["cpu_s"] / passed_s
        # ticks of 10 ms make a rate over a blink meaningless
        if passed_s >= 0.1:
            self.cpu_peak_cores = max(self.cpu_peak_cores, cores)
        sample = {
            "time_s": round(now, 3),
            "cpu_cores": round(cores, 4),
            "memory_gib": memory / GIB,
            "memory_peak_gib": max(memory, self._meter.highest_since_sample()) / GIB,
            "memory_peak_error_gib": self._meter.peak().error_bytes / GIB,
            "memory_rss_gib": tree.rss_bytes / GIB,
            "read_bytes_per_s": round(delta["read_bytes"] / passed_s, 1),
            "write_bytes_per_s": round(delta["write_bytes"] / passed_s, 1),
            "processes": len(tree.processes),
            "threads": tree.threads,
        }
        if self._gpus is not None:
            sample |= self._gpus.use({process.pid for process in tree.processes})
        return sample

    def _totals(self, tree: TreeUse) -> dict[str, float]:
        """What was used since the beginning: by those alive, and by children that have ended."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        read, written = io_bytes("self")
        return {
            "mono_s": time.monotonic(),
            "cpu_s": tree.cpu_s + ended.ru_utime + ended.ru_stime,
            "read_bytes": tree.read_bytes + read - self._began_io[0],
            "write_bytes": tree.write_bytes + written - self._began_io[1],
        }


def whole_lines(path: Path) -> list[dict[str, float]]:
    """Return the rows of a file of JSON lines; half a line of a killed writer is left out."""
    rows = []
    for line in path.read_bytes().splitlines():
        with suppress(ValueError):
            rows.append(json.loads(line))
    return rows


class DurableLines:
    """A file of JSON lines. What was added is on the disk, whatever happens next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._end_torn_line()
        self._waiting: list[bytes] = []
        #: what the file system last said no with
        self.refused: OSError | None = None

    def add(self, row: JsonObject) -> None:
        """Append a row; if the disk is full it waits here for the next one."""
        self._waiting.append(json.dumps(row).encode() + b"\n")
        self.flush()

    def flush(self) -> None:
        """Write what waits."""
        while self._waiting:
            start = os.fstat(self._file).st_size
            try:
                if os.write(self._file, self._waiting[0]) < len(self._waiting[0]):
                    os.ftruncate(self._file, start)
                    raise OSError(28, "No space left on device")
                os.fdatasync(self._file)
            except OSError as cause:
                self.refused = cause
                return
            self.refused = None
            self._waiting.pop(0)

    @property
    def waiting(self) -> int:
        """Rows that are not on the disk yet."""
        return len(self._waiting)

    def close(self) -> None:
        """Write what waits and close the file."""
        self.flush()
        os.close(self._file)

    def _end_torn_line(self) -> None:
        """A writer that was killed may have left half a line: it must not spoil ours."""
        size = os.fstat(self._file).st_size
        with self.path.open("rb") as stream:
            stream.seek(max(0, size - 1))
            if size and stream.read(1) != b"\n":
                os.write(self._file, b"\n")
