"""Control groups, version 2: counters, and memory limits that are real. Standard library only."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import Protocol

GIB = 2**30


class ControlGroup:
    """One folder of the cgroup file system.

    With a limit, the kernel counts all its processes together and kills at the limit.
    """

    kind = "cgroup"

    def __init__(self, folder: Path, limit_bytes: int = 0) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes

    @classmethod
    def own(cls) -> ControlGroup | None:
        """Return the group this process is in; None if the machine has no version 2 here."""
        mount = _mount_point()
        if mount is None:
            return None
        for line in _read(Path("/proc/self/cgroup")).splitlines():
            if line.startswith("0::"):
                group = cls(mount / line[3:].lstrip("/"))
                return group if (group.folder / "memory.current").exists() else None
        return None

    def counters(self) -> dict[str, float]:
        """Return memory and CPU as the kernel accounts them for the whole group."""
        found: dict[str, float] = {}
        for name, file in (("memory", "memory.current"), ("memory_high", "memory.peak")):
            text = _read(self.folder / file).strip()
            if text.isdigit():
                found[f"cgroup_{name}_gib"] = int(text) / GIB
        usage = _fields(self.folder / "cpu.stat").get("usage_usec")
        if usage is not None:
            found["cgroup_cpu_s"] = usage / 1e6
        return found

    def oom_kills(self) -> int | None:
        """Return how many processes of the group the kernel has killed for lack of memory."""
        return int(_fields(self.folder / "memory.events").get("oom_kill", 0))

    def peak_bytes(self) -> int | None:
        """Return the highest memory of all its processes together; None if unknown."""
        high = self.counters().get("cgroup_memory_high_gib")
        return None if high is None else round(high * GIB)

    def child(self, name: str, memory_bytes: int) -> ControlGroup:
        """Make a group below this one with a memory limit; OSError if we may not."""
        if "memory" not in _read(self.folder / "cgroup.subtree_control").split():
            raise PermissionError(f"{self.folder}: memory is not delegated")
        made = ControlGroup(self.folder / name, memory_bytes)
        made.folder.mkdir(exist_ok=True)
        (made.folder / "memory.max").write_text(str(memory_bytes))
        for file, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            with contextlib.suppress(OSError):
                (made.folder / file).write_text(value)
        return made

    def enter(self) -> None:
        """Move the calling process in."""
        (self.folder / "cgroup.procs").write_text("0")

    def remove(self) -> None:
        """Remove the group; one that still has processes stays."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def delegated() -> ControlGroup | None:
    """Return a group below which limits may be set: ours, its parent, or the one that is named.

    ``PROPHASE_CGROUP`` names a folder that an administrator has delegated.
    """
    named = os.environ.get("PROPHASE_CGROUP")
    own = ControlGroup.own()
    candidates = [ControlGroup(Path(named))] if named else []
    if own is not None:
        candidates += [own, ControlGroup(own.folder.parent)]
    for group in candidates:
        shared = "memory" in _read(group.folder / "cgroup.subtree_control").split()
        if shared and os.access(group.folder, os.W_OK):
            return group
    return None


def _mount_point() -> Path | None:
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return Path(before.split()[4])
    return None


def _fields(path: Path) -> dict[str, float]:
    pairs = (line.split() for line in _read(path).splitlines())
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


# A memory limit that is real: a control group if we may make one, else a resource limit.
#
# Standard library only.


class MemoryLimit(Protocol):
    """What holds a task to its memory."""

    kind: str
    limit_bytes: int

    def enter(self) -> None:
        """Put the calling process, and all it will start, under the limit."""

    def oom_kills(self) -> int | None:
        """Return how many processes the limit has killed; None if unknown."""

    def peak_bytes(self) -> int | None:
        """Return the exact peak of all processes together; None if unknown."""

    def remove(self) -> None:
        """Take the limit away after the task."""


class ProcessLimit:
    """Each process may hold so much private writable memory; a request beyond it fails.

    The limit is per process. Whoever samples the tree sees to it that the processes of
    a task do not exceed it together.
    """

    kind = "rlimit"

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes

    def enter(self) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (self.limit_bytes, self.limit_bytes))

    def oom_kills(self) -> int | None:
        return None

    def peak_bytes(self) -> int | None:
        return None

    def remove(self) -> None:
        """Leave it: it ended with its processes."""


def memory_limit(limit_bytes: int, name: str) -> MemoryLimit:
    """Return the strongest limit this machine permits.

    Examples
    --------
    >>> memory_limit(2**30, "doctest").limit_bytes
    1073741824
    """
    parent = delegated()
    if parent is not None:
        with contextlib.suppress(OSError):
            return parent.child(f"prophase-{name}", limit_bytes)
    return ProcessLimit(limit_bytes)
