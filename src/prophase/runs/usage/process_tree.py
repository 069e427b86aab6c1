"""What a process and all its descendants use right now, from ``/proc``.

Standard library only: this runs beside tasks.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
KIB = 1024


@dataclass
class ProcessUse:
    """One process: what it holds now, and what it has used since it began."""

    pid: int
    start_ticks: int
    rss_bytes: int = 0
    #: the kernel's mark of the highest RSS so far
    high_bytes: int = 0
    #: the part of the RSS that lies in shared memory
    shmem_bytes: int = 0
    cpu_s: float = 0.0
    threads: int = 0


@dataclass
class TreeUse:
    """A process tree at one moment."""

    processes: list[ProcessUse] = field(default_factory=list)
    read_bytes: int = 0
    write_bytes: int = 0

    @property
    def rss_bytes(self) -> int:
        return sum(process.rss_bytes for process in self.processes)

    @property
    def cpu_s(self) -> float:
        return sum(process.cpu_s for process in self.processes)

    @property
    def threads(self) -> int:
        return sum(process.threads for process in self.processes)


def descendants(root: int) -> list[int]:
    """Return the ids of all processes below ``root``, without itself."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def look(pids: list[int]) -> TreeUse:
    """Return what these processes use; those that have ended meanwhile are left out."""
    tree = TreeUse()
    for pid in pids:
        process = _process(pid)
        if process is None:
            continue
        tree.processes.append(process)
        read, written = io_bytes(pid)
        tree.read_bytes += read
        tree.write_bytes += written
    return tree


def pss_bytes(pid: int) -> int | None:
    """Return the memory of a process with shared pages divided among those that share them."""
    for line in _lines(f"/proc/{pid}/smaps_rollup"):
        if line.startswith("Pss:"):
            return int(line.split()[1]) * KIB
    return None


def mapped_bytes(pid: int, folder: str) -> int:
    """Return this process's share of the mapped files below a folder."""
    found, inside = 0, False
    for line in _lines(f"/proc/{pid}/smaps"):
        if line.startswith("Pss:"):
            found += int(line.split()[1]) * KIB if inside else 0
        elif line[0] in "0123456789abcdef":
            inside = f" {folder}/" in line
    return found


def io_bytes(pid: int | str) -> tuple[int, int]:
    """Return bytes read from and written to storage, with those of children that have ended."""
    values = {}
    for line in _lines(f"/proc/{pid}/io"):
        name, _, value = line.partition(":")
        values[name] = value
    written = int(values.get("write_bytes", 0)) - int(values.get("cancelled_write_bytes", 0))
    return int(values.get("read_bytes", 0)), max(0, written)


def is_alive(pid: int, start: int) -> bool:
    """Say whether the process that began then still holds memory."""
    fields = _stat_fields(pid)
    return fields is not None and fields[0] != "Z" and int(fields[19]) == start


def environment_has(pid: int, mark: str) -> bool:
    """Say whether a process was started with ``mark`` (``NAME=value``) in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:  # noqa: PTH123
            return mark.encode() in stream.read().split(b"\0")
    except OSError:
        return False


def all_pids() -> list[int]:
    """Return the ids of all processes that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return found
    for thread in threads:
        for line in _lines(f"/proc/{pid}/task/{thread}/children"):
            found += map(int, line.split())
    return found


def _process(pid: int) -> ProcessUse | None:
    fields = _stat_fields(pid)
    if fields is None or fields[0] == "Z":
        return None
    # user and system time, own and of children that were waited for: fields 14 to 17 of proc(5)
    use = ProcessUse(pid, int(fields[19]), cpu_s=sum(map(int, fields[11:15])) / _TICKS_PER_S)
    use.threads = int(fields[17])
    for line in _lines(f"/proc/{pid}/status"):
        if line.startswith("VmHWM:"):
            use.high_bytes = int(line.split()[1]) * KIB
        elif line.startswith("VmRSS:"):
            use.rss_bytes = int(line.split()[1]) * KIB
        elif line.startswith("RssShmem:"):
            use.shmem_bytes = int(line.split()[1]) * KIB
    return use


def _stat_fields(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the third on: a name may hold spaces."""
    text = "".join(_lines(f"/proc/{pid}/stat"))
    return text[text.rindex(")") + 2 :].split() if ")" in text else None


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
            return stream.readlines()
    except OSError:
        return []
