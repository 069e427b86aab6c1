"""Replay a trace through a sizer and count what it would have wasted.

A success wastes (allocation - peak) x run time. An allocation below the peak is killed and
costs allocation x run time x ttf, where ttf says how late in the run the kill comes; then
the sizer is asked again, up to the size of a node.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from prophase.errors import ParameterError, not_among
from prophase.sizing.replays.task_runs import TaskRun, TaskRuns
from prophase.sizing.sizer import Features, OnlineSizer

Protocol = Literal["online", "timeline"]
PROTOCOLS = ("online", "timeline")
#: a sizer that asks this often without reaching the peak gets the whole node
MOST_ATTEMPTS = 25


@dataclass(frozen=True)
class SizedRun:
    """What one instance was given, attempt by attempt."""

    run: TaskRun
    #: requests in the order they were made; the last one held unless ``unfit``
    asked: tuple[float, ...]
    #: the peak is above the node: no request could hold
    unfit: bool

    def waste(self, ttf: float = 1.0) -> float:
        """Return the wasted amount x hours if a kill comes after this share of the run."""
        lost = self.asked if self.unfit else self.asked[:-1]
        wasted = sum(lost) * ttf
        if not self.unfit:
            wasted += self.asked[-1] - self.run.peak
        return wasted * self.run.runtime_h


@dataclass(frozen=True)
class Replayed:
    """A whole replay: every decision, and the time the sizer took."""

    decisions: list[SizedRun]
    node: float
    predict_s: float
    observe_s: float

    def summary(self) -> dict[str, float]:
        """Return the measures of the replay."""
        decisions = self.decisions
        failures = sum(len(d.asked) - (0 if d.unfit else 1) for d in decisions)
        used = sum(d.run.peak * d.run.runtime_h for d in decisions if not d.unfit)
        waste = sum(d.waste() for d in decisions)
        return {
            "tasks": len(decisions),
            "waste_h": waste,
            "waste_half_h": sum(d.waste(0.5) for d in decisions),
            "failures": failures,
            "oom_share": sum(len(d.asked) > 1 or d.unfit for d in decisions) / len(decisions),
            "utilisation": used / (used + waste) if used + waste > 0 else math.nan,
            "most_attempts": max(len(d.asked) for d in decisions),
            "unfit": sum(d.unfit for d in decisions),
            "predict_ms": 1e3 * self.predict_s / len(decisions),
            "observe_ms": 1e3 * self.observe_s / len(decisions),
        }


def replay(
    runs: TaskRuns | Iterable[TaskRun],
    sizer: OnlineSizer,
    *,
    protocol: Protocol = "online",
    node: float | None = None,
    show: Callable[[int], None] = lambda done: None,
) -> Replayed:
    """Run a trace through a sizer.

    Parameters
    ----------
    runs : TaskRuns
        Instances in the order of submission.
    protocol : {"online", "timeline"}
        ``online`` lets the sizer learn from each instance before it meets the next.
        ``timeline`` decides when an instance started and learns when it ended, so instances
        that ran at the same time teach each other nothing. A killed attempt reports at its end
        and takes its time again.
    node : float, optional
        The most that can be given; without it the largest request of the trace.
    """
    if protocol not in PROTOCOLS:
        raise ParameterError(not_among(f"protocol {protocol!r} is unknown.", protocol, PROTOCOLS))
    given: Callable[[float], float] = float
    if isinstance(runs, TaskRuns):
        node = runs.largest_request if node is None else node
        given = runs.resource.allocatable
    listed = runs.runs if isinstance(runs, TaskRuns) else list(runs)
    if node is None:
        node = max(run.request if run.request > 0 else run.peak for run in listed)
    keeper = _Keeper(sizer, node, given)
    driven = _online if protocol == "online" else _timeline
    decisions = driven(listed, keeper, show)
    return Replayed(decisions, node, keeper.predict_s, keeper.observe_s)


def _online(runs: list[TaskRun], keeper: _Keeper, show: Callable[[int], None]) -> list[SizedRun]:
    """Finish every instance, with all its attempts, before the next one is met."""
    for number, run in enumerate(runs):
        held = keeper.begin(run)
        while not keeper.ended(held):
            pass
        show(number + 1)
    return keeper.decisions


def _timeline(runs: list[TaskRun], keeper: _Keeper, show: Callable[[int], None]) -> list[SizedRun]:
    """Let the clock decide: an attempt reports when it ends, and a killed one runs again first."""
    under_way: list[tuple[float, int, _Attempts]] = []

    def report_until(time_s: float) -> None:
        while under_way and under_way[0][0] <= time_s:
            ended_s, number, held = heapq.heappop(under_way)
            if not keeper.ended(held):
                heapq.heappush(under_way, (ended_s + _took_s(held.run), number, held))

    order = sorted(range(len(runs)), key=lambda place: runs[place].start_s)
    for number, place in enumerate(order):
        run = runs[place]
        report_until(run.start_s)
        heapq.heappush(under_way, (run.end_s, number, keeper.begin(run)))
        show(number + 1)
    report_until(math.inf)
    return keeper.decisions


def _took_s(run: TaskRun) -> float:
    return max(run.end_s - run.start_s, 3600 * run.runtime_h)


@dataclass(eq=False)
class _Attempts:
    """One instance under way: what it was given so far."""

    run: TaskRun
    place: int
    asked: list[float]


class _Keeper:
    """Asks a sizer, holds its answers against the peaks, and clocks it."""

    def __init__(self, sizer: OnlineSizer, node: float, given: Callable[[float], float]) -> None:
        self.sizer, self.node, self.given = sizer, node, given
        self.predict_s = self.observe_s = 0.0
        self._done: dict[int, SizedRun] = {}
        self._begun = 0

    @property
    def decisions(self) -> list[SizedRun]:
        """All instances in the order they began."""
        return [self._done[place] for place in sorted(self._done)]

    def begin(self, run: TaskRun) -> _Attempts:
        """Ask for the first request of an instance."""
        began = time.process_time()
        first = self._fitting(self.sizer.predict(run.task, run.features), 0.0)
        self.predict_s += time.process_time() - began
        # nobody asks for more than users do today, before a kill shows that more is needed
        asked = min(first, run.request) if run.request > 0 else first
        self._begun += 1
        return _Attempts(run, self._begun, [asked])

    def ended(self, held: _Attempts) -> bool:
        """Report the attempt that just ended; after a kill ask again, and say if it is over."""
        run, asked = held.run, held.asked
        if asked[-1] >= run.peak:
            self._observe(run, {**run.features, "post": run.post}, run.peak, failed=False)
        else:
            self._observe(run, run.features, asked[-1], failed=True)
            if asked[-1] < self.node:
                began = time.process_time()
                again = (
                    self.node
                    if len(asked) >= MOST_ATTEMPTS
                    else self.sizer.retry(run.task, run.features, len(asked) + 1, asked[-1])
                )
                asked.append(self._fitting(again, asked[-1]))
                self.predict_s += time.process_time() - began
                return False
        self._done[held.place] = SizedRun(run, tuple(asked), unfit=asked[-1] < run.peak)
        return True

    def _observe(self, run: TaskRun, features: Features, peak: float, *, failed: bool) -> None:
        began = time.process_time()
        self.sizer.observe(run.task, features, peak, run.runtime_h, failed)
        self.observe_s += time.process_time() - began

    def _fitting(self, answer: float, last: float) -> float:
        """Keep an answer on the node, and above what was just killed."""
        if not math.isfinite(answer) or answer <= last:
            answer = self.node if last == 0.0 else 2.0 * last
        return min(max(self.given(answer), 1e-6), self.node)
