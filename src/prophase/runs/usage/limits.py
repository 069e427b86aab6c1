"""A memory limit that is real: a control group if we may make one, else a resource limit.

Standard library only.
"""

from __future__ import annotations

import contextlib
import resource
from typing import Protocol

from prophase.runs.usage.cgroup import ControlGroup, delegated


class MemoryLimit(Protocol):
    """What holds a task to its memory."""

    kind: str
    limit_bytes: int

    def enter(self) -> None:
        """Put the calling process, and all it will start, under the limit."""

    def oom_kills(self) -> int | None:
        """Return how many processes the limit has killed; None if it cannot tell."""

    def peak_bytes(self) -> int | None:
        """Return the exact peak of all processes together; None if it cannot tell."""

    def remove(self) -> None:
        """Take the limit away after the task."""


class GroupLimit:
    """The kernel counts all processes of the task together and kills at the limit."""

    kind = "cgroup"

    def __init__(self, parent: ControlGroup, name: str, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.group = parent.child(name, limit_bytes)

    def enter(self) -> None:
        self.group.enter()

    def oom_kills(self) -> int | None:
        return self.group.oom_kills

    def peak_bytes(self) -> int | None:
        high = self.group.counters().get("cgroup_memory_high_gib")
        return None if high is None else round(high * 2**30)

    def remove(self) -> None:
        self.group.remove()


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
            return GroupLimit(parent, f"prophase-{name}", limit_bytes)
    return ProcessLimit(limit_bytes)
