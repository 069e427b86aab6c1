"""Kueue's admission run forward: which Workload gets quota when, if each runs for so long.

In every cycle the first Workload of each ClusterQueue is looked at: those that need not borrow come
first, then by priority, then by age. What does not fit is passed over until quota is given back, or
holds up its queue (``StrictFIFO``). What would fit into its queue's own quota, were that not in
use, keeps it for the rest of the cycle: nobody borrows it past a queue that is held up, unless that
may always take it back (``reclaimWithinCohort: Any``). Where a queue allows it, Workloads of lower
priority and borrowers are stopped for others; they wait again and begin anew.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prophase.sim.kueue.quotas import Cell, ClusterQueue, QuotaTree
from prophase.sim.signatures import Floats


@dataclass(frozen=True)
class PodGroup:
    """Pods of a Workload that ask for the same, and flavors that they cannot use."""

    #: of all its pods: cores, bytes, GPUs
    asked: Mapping[str, float]
    barred: frozenset[str] = frozenset()


@dataclass(frozen=True)
class QueuedWork:
    """A Workload that runs or waits."""

    queue: str
    groups: tuple[PodGroup, ...]
    priority: float
    created_s: float
    #: what it holds, if it runs
    holds: Mapping[Cell, float] | None = None
    #: seconds that it has run
    elapsed_s: float = 0.0


@dataclass(frozen=True)
class _Head:
    """The first Workload of a queue in a cycle."""

    number: int
    #: what it is given; None: it does not fit
    asked: dict[Cell, float] | None
    #: what it then keeps from others
    keeps: dict[Cell, float]
    turn: tuple[bool, float, float]
    shape: object
    #: one that asks for the same did not fit before
    failed: bool


def assigned(
    tree: QuotaTree,
    queue: ClusterQueue,
    work: QueuedWork,
    *,
    empty: bool = False,
    own: bool = False,
) -> dict[Cell, float] | None:
    """Return the flavors that a Workload would be given now, with amounts; None: it has to wait.

    Parameters
    ----------
    empty : bool
        Whether it would fit if nobody used anything.
    own : bool
        Whether it would fit into the queue's own quota if that were not in use.
    """
    taken: dict[Cell, float] = {}
    for pods in work.groups:
        left = {name for name, amount in pods.asked.items() if amount > 0}
        for group in queue.groups:
            mine = [name for name in group.resources if name in left]
            if not mine:
                continue
            borrowing: dict[Cell, float] | None = None
            for flavor in group.flavors:
                if flavor in pods.barred:
                    continue
                more = dict(taken)
                for name in mine:
                    more[flavor, name] = more.get((flavor, name), 0.0) + pods.asked[name]
                if own:
                    fits = all(tree.could_fit(queue.name, cell, n) for cell, n in more.items())
                elif empty:
                    fits = all(n <= tree.most(queue.name, cell) for cell, n in more.items())
                else:
                    fits = tree.fits(queue.name, more)
                if not fits:
                    continue
                if not (queue.borrow_last and tree.borrows(queue.name, more)):
                    taken = more
                    break
                borrowing = borrowing or more
            else:
                if borrowing is None:
                    return None
                taken = borrowing
            left -= set(mine)
        if left:
            # no flavor of the queue has such a resource
            return None
    return taken


class AdmissionRun:
    """The queues from now on, for one draw of run times."""

    def __init__(
        self,
        queues: Mapping[str, ClusterQueue],
        tree: QuotaTree,
        works: Sequence[QueuedWork],
        left_s: Floats,
        rank: Floats,
    ) -> None:
        self.queues, self.tree, self.works = queues, tree, works
        self.left_s, self.rank = left_s, rank
        self.start_s = np.full(len(works), np.nan)
        self._held: dict[int, Mapping[Cell, float]] = {}
        self._since: dict[int, float] = {}
        self._ends: list[tuple[float, int]] = []
        self._waiting: dict[str, list[int]] = {name: [] for name in queues}
        self._end_s: dict[int, float] = {}
        self._restarted: set[int] = set()
        for number, work in enumerate(works):
            if work.holds is None:
                self._waiting[work.queue].append(number)
            else:
                self._begin(number, work.holds, -work.elapsed_s, float(left_s[number]))
        for line in self._waiting.values():
            line.sort(key=lambda number: rank[number])

    def run(self, until: int | None = None) -> Floats:
        """Return when each Workload is admitted, in seconds from now; NaN: never.

        Parameters
        ----------
        until : int, optional
            Stop once this one is admitted.
        """
        self._admit(0.0, until)
        while self._ends and (until is None or np.isnan(self.start_s[until])):
            now, number = heapq.heappop(self._ends)
            if not self._ends_now(number, now):
                continue
            self._end(number)
            while self._ends and self._ends[0][0] <= now:
                _, other = heapq.heappop(self._ends)
                if self._ends_now(other, now):
                    self._end(other)
            self._admit(now, until)
        return self.start_s

    def _ends_now(self, number: int, now: float) -> bool:
        """Say whether an end still holds: a Workload that was stopped ends later."""
        return number in self._held and self._end_s[number] <= now

    def _begin(self, number: int, holds: Mapping[Cell, float], now: float, left: float) -> None:
        self.tree.use(self.works[number].queue, holds)
        self._held[number], self._since[number] = holds, now
        end = max(now, 0.0) + left
        self._end_s[number] = end
        heapq.heappush(self._ends, (end, number))

    def _end(self, number: int) -> None:
        self.tree.use(self.works[number].queue, self._held.pop(number), -1.0)

    def _admit(self, now: float, until: int | None) -> None:
        """Admit all that can be admitted, cycle by cycle."""
        passed: set[int] = set()
        failed: set[object] = set()
        moves = True
        while moves:
            first = [self._head(name, passed) for name in self.queues]
            heads = [self._nominated(number, failed) for number in first if number is not None]
            moves, kept = False, []
            for head in sorted(heads, key=lambda one: one.turn):
                number, work = head.number, self.works[head.number]
                queue = self.queues[work.queue]
                asked = head.asked
                if asked is None:
                    asked = None if head.failed else self._reclaimed(number)
                    if asked is not None:
                        failed.clear()
                elif not self.tree.fits(work.queue, asked):
                    # another one has taken it or keeps it: tried again in the next cycle
                    continue
                if asked is None:
                    failed.add(head.shape)
                    if head.keeps and queue.reclaim != "Any":
                        self.tree.use(work.queue, head.keeps)
                        kept.append((work.queue, head.keeps))
                    if not queue.strict:
                        passed.add(number)
                        moves = True
                    continue
                moves = True
                self._waiting[work.queue].remove(number)
                if np.isnan(self.start_s[number]):
                    self.start_s[number] = now
                again = work.elapsed_s if number in self._restarted else 0.0
                self._begin(number, asked, now, float(self.left_s[number]) + again)
                if number == until:
                    break
            for name, amounts in kept:
                self.tree.use(name, amounts, -1.0)
            if until is not None and not np.isnan(self.start_s[until]):
                return

    def _nominated(self, number: int, failed: set[object]) -> _Head:
        """Return what a Workload would be given if it were the only one looked at now."""
        work = self.works[number]
        queue = self.queues[work.queue]
        shape = _shape(work, queue)
        asked = None if shape in failed else assigned(self.tree, queue, work)
        keeps: dict[Cell, float] = {}
        wanted = asked
        if asked is None:
            wanted = assigned(self.tree, queue, work, own=True)
            keeps = {} if wanted is None else self._kept(queue, wanted)
        borrows = wanted is None or self.tree.borrows(work.queue, wanted)
        turn = (borrows, -work.priority, work.created_s)
        return _Head(number, asked, keeps, turn, shape, shape in failed)

    def _kept(self, queue: ClusterQueue, wanted: Mapping[Cell, float]) -> dict[Cell, float]:
        """Return what a Workload keeps from others while it is looked at and does not fit."""
        borrows, found = self.tree.borrows(queue.name, wanted), {}
        for cell, amount in wanted.items():
            quota = queue.quotas[cell]
            most = quota.nominal + (quota.borrow if borrows else 0.0)
            found[cell] = max(0.0, min(amount, most - self.tree.used(queue.name, cell)))
        return found

    def _head(self, queue: str, passed: set[int]) -> int | None:
        if self.queues[queue].stopped:
            return None
        return next((one for one in self._waiting[queue] if one not in passed), None)

    def _reclaimed(self, number: int) -> dict[Cell, float] | None:
        """Stop others for a Workload, if its queue's rules allow that and it helps."""
        work = self.works[number]
        queue = self.queues[work.queue]
        if queue.reclaim == "Never" and queue.within == "Never":
            return None
        root = self.tree.cohort_of(work.queue)
        stopped: list[int] = []
        for other in sorted(self._held, key=lambda other: self._victim_turn(other, work.queue)):
            theirs = self.works[other]
            if theirs.queue == work.queue:
                yields = self._yields_within(queue, work, theirs)
            else:
                yields = (
                    queue.reclaim != "Never"
                    and self.tree.cohort_of(theirs.queue) == root
                    and self.tree.borrows(theirs.queue, dict.fromkeys(self._held[other], 0.0))
                    and (queue.reclaim == "Any" or theirs.priority < work.priority)
                )
            if not yields:
                continue
            self.tree.use(theirs.queue, self._held[other], -1.0)
            stopped.append(other)
            asked = assigned(self.tree, queue, work)
            if asked is not None and self._may_take(queue, stopped, work, asked):
                return self._stopped(work, stopped, asked)
        for other in stopped:
            self.tree.use(self.works[other].queue, self._held[other])
        return None

    def _may_take(
        self, queue: ClusterQueue, stopped: list[int], work: QueuedWork, asked: Mapping[Cell, float]
    ) -> bool:
        """Say whether others may be stopped for this: borrowers only for what is not borrowed."""
        foreign = any(self.works[other].queue != work.queue for other in stopped)
        return not (foreign and self.tree.borrows(queue.name, asked))

    def _stopped(
        self, work: QueuedWork, stopped: list[int], asked: dict[Cell, float]
    ) -> dict[Cell, float]:
        """Let go on whom it did not take, and put the others back into their queues."""
        for other in reversed(stopped[:-1]):
            theirs = self.works[other]
            self.tree.use(theirs.queue, self._held[other])
            if not self.tree.fits(work.queue, asked):
                self.tree.use(theirs.queue, self._held[other], -1.0)
                continue
            stopped.remove(other)
        for other in stopped:
            del self._held[other]
            self._restarted.add(other)
            line = self._waiting[self.works[other].queue]
            line.append(other)
            line.sort(key=lambda number: self.rank[number])
        return asked

    def _victim_turn(self, other: int, queue: str) -> tuple[bool, float, float]:
        """Sort who is stopped first: other queues, low priority, begun last."""
        theirs = self.works[other]
        return theirs.queue == queue, theirs.priority, -self._since[other]

    @staticmethod
    def _yields_within(queue: ClusterQueue, work: QueuedWork, theirs: QueuedWork) -> bool:
        if queue.within == "LowerOrNewerEqualPriority":
            return (theirs.priority, -theirs.created_s) < (work.priority, -work.created_s)
        return queue.within == "LowerPriority" and theirs.priority < work.priority


def _shape(work: QueuedWork, queue: ClusterQueue) -> object:
    """Return what two Workloads share of which one fits if the other does."""
    asked = tuple((tuple(sorted(one.asked.items())), one.barred) for one in work.groups)
    age = work.created_s if queue.within == "LowerOrNewerEqualPriority" else 0.0
    return work.queue, asked, work.priority, age
