"""How much memory a command held at most, and how far that figure can be off.

Two meters: the kernel's own account of a control group, or samples of the process tree. Standard
library only: this runs beside tasks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from prophase.runs.usage.cgroup import CHARGE_STOCK_BYTES, ControlGroup
from prophase.runs.usage.memory_files import MemoryFiles
from prophase.runs.usage.process_tree import ProcessUse, is_alive, look, mapped_bytes, pss_bytes

#: shares of the time that looking, and reading the PSS, may take of one core
_LOOK_SHARE, _PSS_SHARE = 0.05, 0.03
#: seconds of either that are free, so that the beginning is seen
_FREE_S = 0.5
_SHORTEST_S, _LONGEST_S = 0.01, 0.1
#: share of the high-water mark above which the page cache blurs it
_MUCH_CACHE = 0.01
_RISEN, _RISEN_BYTES = 1.01, 2**20
#: no process touches new pages faster
_FILLED_BYTES_PER_S = 10 * 2**30
#: id and start of a process
_Key = tuple[int, int]


@dataclass(frozen=True)
class PeakMemory:
    """The highest memory of a command: the true one is at most ``error_bytes`` away."""

    bytes: float
    error_bytes: float
    method: str


class MemoryMeter(Protocol):
    """What keeps account of the memory of a command."""

    def look(self) -> float:
        """Take what is held now into account and return it, in bytes."""

    def highest_since_sample(self) -> float:
        """Return the highest use since this was asked last, in bytes."""

    def peak(self, largest_ended_bytes: int = 0) -> PeakMemory:
        """Return the highest use of all."""


class Cadence:
    """When to look next: soon at the start and while memory rises, seldom while it is steady."""

    def __init__(self) -> None:
        self.pause_s = _SHORTEST_S
        self._seen = 0.0
        self._began, self._began_cpu = time.monotonic(), time.process_time()

    def after(self, memory_bytes: float) -> float:
        """Return the pause after a look that found this; longer if looking has cost too much."""
        risen = memory_bytes > max(self._seen * _RISEN, self._seen + _RISEN_BYTES)
        self._seen = max(memory_bytes, 0.98 * self._seen)
        self.pause_s = _SHORTEST_S if risen else min(1.25 * self.pause_s, _LONGEST_S)
        spent_s = time.process_time() - self._began_cpu
        allowed_s = _FREE_S + _LOOK_SHARE * (time.monotonic() - self._began)
        return max(self.pause_s, (spent_s - allowed_s) / _LOOK_SHARE)


class GroupMeter:
    """The kernel's account of a control group, without the page cache.

    The kernel marks the highest use with the page cache. Where the mark lies between two looks,
    the cache is taken to have been between the sizes that they found, which leaves a range.
    """

    def __init__(self, group: ControlGroup) -> None:
        self._group = group
        self._cache = self._usage = self._mark = 0
        self._least = self._most = self._recent = 0.0

    def look(self) -> float:
        marked = self._group.highest_bytes()
        usage, cache = self._group.usage_bytes(), self._group.cache_bytes()
        marked = max(marked, usage)
        now, before = max(usage - cache, 0), max(self._usage - self._cache, 0)
        least = most = max(now, before)
        if marked > max(self._mark, self._usage, usage):
            # reached between the two looks
            least = max(least, marked - max(self._cache, cache))
            most = max(most, marked - min(self._cache, cache))
        self._least, self._most = max(self._least, least), max(self._most, most)
        self._recent = max(self._recent, least)
        self._mark = max(marked, self._mark)
        if max(self._cache, cache) > _MUCH_CACHE * marked and self._group.forgets:
            # a mark that is mostly cache hides later ones; without cache it can stay, as setting
            # it back would lose what happens at that moment
            self._group.forget_highest()
            self._mark = usage
        self._usage, self._cache = usage, cache
        return float(now)

    def highest_since_sample(self) -> float:
        highest, self._recent = self._recent, 0.0
        return highest

    def peak(self, largest_ended_bytes: int = 0) -> PeakMemory:
        error = self._most - self._least + min(CHARGE_STOCK_BYTES, self._least)
        return PeakMemory(self._least, error, f"cgroup v{self._group.version}")


class SampledMeter:
    """Looks at a process tree: pages that processes share count once, files in memory as well.

    A single process is known by its RSS. Of several, the PSS is read whenever their RSS
    together could be a new peak. The kernel marks the highest RSS of every process, which
    bounds what may have been held between two looks.

    Parameters
    ----------
    pids : function
        Returns the processes that are meant, at each look.
    fresh : bool
        Whether the processes began with the meter. If not, what they peaked at before is
        none of our business.
    limit_bytes : int, optional
        Above this the PSS is read whatever it costs.
    """

    def __init__(
        self, pids: Callable[[], list[int]], *, fresh: bool, limit_bytes: int | None = None
    ) -> None:
        self._pids, self._limit = pids, limit_bytes
        self._files = MemoryFiles()
        self._marks: dict[_Key, int] = {}
        #: processes whose marks are from before the measurement
        self._old_marks: set[_Key] = set()
        self._baseline_due = not fresh
        self._memory_before, self._rss_before = 0.0, dict[_Key, int]()
        self._pss, self._rss_at_pss = 0.0, dict[_Key, int]()
        self._pss_cost_s = self._pss_spent_s = 0.0
        self._began = time.monotonic()
        self._seen = self._value = self._recent = 0.0
        #: processes that ended between two looks -> highest of what the others can have held, and
        #: of what all can have held if none grew faster than memory can be filled
        self._bounds: dict[int, tuple[float, float]] = {}
        self._looked = self._began
        self._method = "sampled PSS"

    def look(self) -> float:
        found = {(one.pid, one.start_ticks): one for one in look(self._pids()).processes}
        rss = {key: one.rss_bytes for key, one in found.items()}
        memory, exact = self._shared_once(rss)
        files, others = self._files.held_bytes([pid for pid, _ in found])
        if files:
            memory += max(0, files - self._mapped_bytes(found))
        single, marks = self._take_marks(found)
        if exact:
            self._seen = max(self._seen, memory)
            self._value = max(self._value, memory + single)
            self._recent = max(self._recent, memory + single)
        self._bound(memory + others, rss, marks)
        self._memory_before, self._rss_before = memory + others, rss
        if exact:
            return memory
        return min(memory, self._pss * sum(rss.values()) / sum(self._rss_at_pss.values()))

    def highest_since_sample(self) -> float:
        highest, self._recent = self._recent, 0.0
        return highest

    def peak(self, largest_ended_bytes: int = 0) -> PeakMemory:
        seen = max(self._seen, largest_ended_bytes)
        value = max(self._value, largest_ended_bytes)
        largest = max(largest_ended_bytes, *self._marks.values(), 0)
        bounds = self._bounds.items()
        most = max((min(held + n * largest, filled) for n, (held, filled) in bounds), default=0)
        return PeakMemory(value, max(most - value, value - seen, 0.0), self._method)

    def _shared_once(self, rss: dict[_Key, int]) -> tuple[float, bool]:
        """Return the memory with shared pages counted once, and whether that is read or a bound."""
        total = float(sum(rss.values()))
        if len(rss) < 2:
            return total, True
        risen = sum(max(0, held - self._rss_at_pss.get(key, 0)) for key, held in rss.items())
        bound = min(total, self._pss + risen)
        if not self._may_read_pss(total, bound):
            return bound, False
        # of our own time: waiting for a busy machine costs nobody anything
        began = time.process_time()
        self._pss, self._rss_at_pss = min(self._read_pss(rss)), rss
        self._pss_cost_s = time.process_time() - began
        self._pss_spent_s += self._pss_cost_s
        return self._pss, True

    def _read_pss(self, rss: dict[_Key, int]) -> list[float]:
        """Read the PSS of all; again if processes came or went, as their shares moved meanwhile."""
        found = []
        for _ in range(3):
            before = self._pids()
            shares = {key: pss_bytes(key[0]) for key in rss}
            alive = {key for key in rss if is_alive(*key)}
            hidden = [key for key in alive if shares[key] is None]
            if hidden:
                self._method = "sampled RSS"
            shared = sum(one for one in shares.values() if one is not None)
            found.append(float(shared + sum(rss[key] for key in hidden)))
            if len(alive) == len(rss) and self._pids() == before:
                return [found[-1]]
        return found

    def _may_read_pss(self, total: float, bound: float) -> bool:
        if not self._rss_at_pss or (self._limit is not None and bound > self._limit):
            return True
        if total <= self._seen:
            # it cannot be a new peak
            return False
        # pages that were shared may have become private without a change of the RSS
        allowed_s = _PSS_SHARE * (time.monotonic() - self._began)
        allowed_s += _FREE_S if bound > _RISEN * self._seen else 0.0
        return self._pss_spent_s + self._pss_cost_s <= allowed_s

    def _take_marks(self, found: dict[_Key, ProcessUse]) -> tuple[float, dict[_Key, int]]:
        """Return the largest rise of one process since the last look, and each one's mark.

        That several processes were at their marks at the same moment cannot be known.
        """
        single, marks = 0, {}
        for key, one in found.items():
            if self._baseline_due:
                self._old_marks.add(key)
            elif one.high_bytes > self._marks.get(key, 0):
                self._old_marks.discard(key)
                single = max(single, one.high_bytes - one.rss_bytes)
            self._marks[key] = one.high_bytes
            marks[key] = one.rss_bytes if key in self._old_marks else one.high_bytes
        self._baseline_due = False
        return float(single), marks

    def _bound(self, memory: float, rss: dict[_Key, int], marks: dict[_Key, int]) -> None:
        """Take into account what can have been held since the look before.

        Two bounds hold: what was held then and all that each process may have added, and what is
        held now and all that each may have given back. One that ended in between can have been
        as large as the largest of all, which is known at the end, but not have grown faster than
        memory can be filled.
        """
        before, now = self._rss_before, time.monotonic()
        ended = [held for key, held in before.items() if key not in rss]
        added = sum(max(0, mark - before.get(key, 0)) for key, mark in marks.items())
        given_back = sum(max(0, mark - rss[key]) for key, mark in marks.items())
        held = min(self._memory_before + added - sum(ended), memory + given_back)
        filled = held
        if ended:
            fastest = (now - self._looked) * _FILLED_BYTES_PER_S
            filled = self._memory_before + added + len(ended) * fastest
        least = self._bounds.get(len(ended), (held, filled))
        self._bounds[len(ended)] = max(least[0], held), max(least[1], filled)
        self._looked = now

    def _mapped_bytes(self, found: dict[_Key, ProcessUse]) -> int:
        """Return what of the files in memory is mapped, and so counted with the processes."""
        folder = self._files.folder
        return sum(mapped_bytes(one.pid, folder) for one in found.values() if one.shmem_bytes)
