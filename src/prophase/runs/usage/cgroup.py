"""Control groups, version 1 and 2: one for each measured command. Standard library only."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

#: the kernel charges memory in stocks of 64 pages per CPU (MEMCG_CHARGE_BATCH)
CHARGE_STOCK_BYTES = 64 * os.sysconf("SC_PAGE_SIZE") * (os.cpu_count() or 1)
#: a value of PROPHASE_CGROUP: measure by samples alone
OFF = "off"
_UNLIMITED = 2**60
#: buffer heads and tree nodes of a cached page, which version 1 does not show by themselves
_CACHE_SLAB = 0.03
_PREFIX = "prophase-"


class ControlGroup:
    """One folder of the memory controller.

    The kernel counts all its processes together, shared pages and files in ``/dev/shm`` once,
    and kills at the limit.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = 1 if (folder / "memory.limit_in_bytes").exists() else 2
        self.forgets = self.version == 1
        self._mark: int | None = None

    @classmethod
    def own(cls) -> ControlGroup | None:
        """Return the group this process is in; None if no memory controller can be seen."""
        paths = {}
        for line in _read(Path("/proc/self/cgroup")).splitlines():
            _, controllers, path = line.split(":", 2)
            paths[controllers or "v2"] = path
        for line in _read(Path("/proc/self/mountinfo")).splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            root, mount = before.split()[3:5]
            controllers = "v2" if kind == "cgroup2" else "memory"
            if not kind.startswith("cgroup") or controllers not in paths:
                continue
            if kind == "cgroup" and "memory" not in options.split(","):
                continue
            # inside a container the mount may begin below the root of the hierarchy
            below = paths[controllers].removeprefix("" if root == "/" else root)
            group = cls(Path(mount) / below.lstrip("/"))
            if group._file("usage").exists():
                return group
        return None

    def usage_bytes(self) -> int:
        """Return what all its processes hold now, with the page cache."""
        return _number(self._file("usage"))

    def cache_bytes(self) -> int:
        """Return the part that the kernel gives back when memory is short.

        That is the page cache and the kernel's books about it; not files in memory.
        """
        stat = _fields(self.folder / "memory.stat")
        if self.version == 1:
            cache = max(0, stat.get("total_cache", 0) - stat.get("total_shmem", 0))
            kernel = _number(self.folder / "memory.kmem.usage_in_bytes")
            return cache + min(int(_CACHE_SLAB * cache), kernel)
        file = stat.get("file", 0) - stat.get("shmem", 0)
        return max(0, file) + stat.get("slab_reclaimable", 0)

    @property
    def has_mark(self) -> bool:
        """Whether the kernel keeps a high-water mark; version 2 does since Linux 5.19."""
        return self._file("peak").exists()

    def highest_bytes(self) -> int:
        """Return the high-water mark."""
        if self._mark is None:
            return _number(self._file("peak"))
        return int(os.pread(self._mark, 32, 0) or 0)

    def forget_highest(self) -> None:
        """Set the high-water mark back to what is used now, where the kernel can."""
        if self._mark is not None and self.forgets:
            os.write(self._mark, b"0")
        elif self.version == 1:
            self._file("peak").write_text("0")

    def oom_kills(self) -> int:
        """Return how many of its processes the kernel has killed for lack of memory."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return _fields(self.folder / name).get("oom_kill", 0)

    def limit_bytes(self) -> int | None:
        """Return the limit of this group alone; None if it has none."""
        text = _read(self._file("limit")).strip()
        return int(text) if text.isdigit() and int(text) < _UNLIMITED else None

    def child(self, memory_bytes: int | None = None) -> ControlGroup:
        """Make a group below this one, perhaps with a memory limit; OSError if we may not."""
        self._sweep()
        folder = self.folder / f"{_PREFIX}{os.getpid()}-{time.time_ns()}"
        folder.mkdir()
        made = ControlGroup(folder)
        made._open_mark()
        try:
            made._set_limit(memory_bytes)
        except OSError:
            made.remove()
            raise
        return made

    def _open_mark(self) -> None:
        """Linux 6.12 and later set the mark of version 2 back for whoever holds the file open."""
        if self.version == 2:
            with suppress(OSError):
                self._mark = os.open(self._file("peak"), os.O_RDWR | os.O_CLOEXEC)
                self.forgets = os.write(self._mark, b"0") == 1

    def _set_limit(self, memory_bytes: int | None) -> None:
        if self.version == 2 and not self._file("usage").exists():
            raise PermissionError(f"{self.folder}: memory is not delegated")
        if memory_bytes is None:
            return
        self._file("limit").write_text(str(memory_bytes))
        # swap would hide what is needed; version 1 wants memory and swap together
        swap = {"memory.memsw.limit_in_bytes": str(memory_bytes), "memory.swap.max": "0"}
        for name, value in {**swap, "memory.oom.group": "1"}.items():
            if (self.folder / name).exists():
                with suppress(OSError):
                    (self.folder / name).write_text(value)

    def enter(self) -> None:
        """Move the calling process in, with all it will start."""
        (self.folder / "cgroup.procs").write_text("0")

    def lets_in(self) -> bool:
        """Say whether our processes may enter: making a group does not yet mean that."""
        probe = os.fork()
        if probe == 0:
            try:
                self.enter()
            except OSError:
                os._exit(1)
            os._exit(0)
        return os.waitpid(probe, 0)[1] == 0

    def remove(self) -> None:
        """Remove the group; one that still has processes stays until they have ended."""
        if self._mark is not None:
            os.close(self._mark)
            self._mark = None
        with suppress(OSError):
            self.folder.rmdir()

    def _sweep(self) -> None:
        """Remove groups that were left by measurements which were killed."""
        for folder in self.folder.glob(f"{_PREFIX}*-*"):
            pid = folder.name.split("-")[1]
            if not Path("/proc", pid).exists():
                with suppress(OSError):
                    folder.rmdir()

    def _file(self, what: str) -> Path:
        return self.folder / _NAMES[self.version][what]


_NAMES = {
    1: {
        "usage": "memory.usage_in_bytes",
        "peak": "memory.max_usage_in_bytes",
        "limit": "memory.limit_in_bytes",
    },
    2: {"usage": "memory.current", "peak": "memory.peak", "limit": "memory.max"},
}


def new_group(memory_bytes: int | None = None) -> ControlGroup | None:
    """Return a new control group for one command; None where none can be made.

    It lies below the one that ``PROPHASE_CGROUP`` names, else below our own; with version 2
    perhaps beside our own, unless that would lift a limit which holds for us or hide us from
    another measurement.

    Parameters
    ----------
    memory_bytes : int, optional
        Limit for all processes of the command together.
    """
    named = os.environ.get("PROPHASE_CGROUP")
    if named == OFF:
        return None
    own = ControlGroup.own()
    candidates = [ControlGroup(Path(named))] if named else []
    if own is not None:
        candidates.append(own)
        measured = own.folder.name.startswith(_PREFIX)
        if own.version == 2 and own.limit_bytes() is None and not measured:
            candidates.append(ControlGroup(own.folder.parent))
    for group in candidates:
        with suppress(OSError):
            made = group.child(memory_bytes)
            if made.lets_in():
                return made
            made.remove()
    return None


def _fields(path: Path) -> dict[str, int]:
    pairs = (line.split() for line in _read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _number(path: Path) -> int:
    text = _read(path).strip()
    return int(text) if text.isdigit() else 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
