"""Replay a trace through a sizer and count what it would have wasted.

A success wastes (allocation - peak) x run time. An allocation below the peak is killed and
costs allocation x run time x ttf, where ttf says how late in the run the kill comes; then
the sizer is asked again, up to the size of a node.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.sizing.replays.task_runs import TaskRun, TaskRuns
from prophase.sizing.sizer import OnlineSizer

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
        that ran at the same time teach each other nothing.
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
    decisions: list[SizedRun] = []
    steps = _online(listed) if protocol == "online" else _timeline(listed)
    for run, ended in steps:
        if ended:
            keeper.learn(run)
        else:
            decisions.append(keeper.decide(run))
            show(len(decisions))
    return Replayed(decisions, node, keeper.predict_s, keeper.observe_s)


def _online(runs: list[TaskRun]) -> Iterator[tuple[TaskRun, bool]]:
    for run in runs:
        yield run, False
        yield run, True


def _timeline(runs: list[TaskRun]) -> Iterator[tuple[TaskRun, bool]]:
    """Yield (instance, whether it ended now) in the order of the recorded clock."""
    running: list[tuple[float, int, TaskRun]] = []
    for number, run in enumerate(sorted(runs, key=lambda one: one.start_s)):
        while running and running[0][0] <= run.start_s:
            yield heapq.heappop(running)[2], True
        yield run, False
        heapq.heappush(running, (run.end_s, number, run))
    while running:
        yield heapq.heappop(running)[2], True


class _Keeper:
    """Asks a sizer, holds its answers against the peaks, and clocks it."""

    def __init__(self, sizer: OnlineSizer, node: float, given: Callable[[float], float]) -> None:
        self.sizer, self.node, self.given = sizer, node, given
        self.predict_s = self.observe_s = 0.0
        self.killed: dict[int, list[float]] = {}

    def decide(self, run: TaskRun) -> SizedRun:
        began = time.process_time()
        first = self._fitting(self.sizer.predict(run.task, run.features), 0.0)
        # nobody asks for more than users do today, before a kill shows that more is needed
        asked = [min(first, run.request) if run.request > 0 else first]
        while asked[-1] < run.peak and asked[-1] < self.node:
            given_up = len(asked) >= MOST_ATTEMPTS
            again = (
                self.node
                if given_up
                else self.sizer.retry(run.task, run.features, len(asked) + 1, asked[-1])
            )
            asked.append(self._fitting(again, asked[-1]))
        self.predict_s += time.process_time() - began
        unfit = asked[-1] < run.peak
        self.killed[id(run)] = asked if unfit else asked[:-1]
        return SizedRun(run, tuple(asked), unfit)

    def learn(self, run: TaskRun) -> None:
        """Report every attempt to the sizer: the killed ones first, then the one that held."""
        features: JsonObject = {**run.features, "post": run.post}
        killed = self.killed.pop(id(run))
        began = time.process_time()
        for request in killed:
            self.sizer.observe(run.task, run.features, request, run.runtime_h, True)
        if run.peak <= self.node:
            self.sizer.observe(run.task, features, run.peak, run.runtime_h, False)
        self.observe_s += time.process_time() - began

    def _fitting(self, answer: float, last: float) -> float:
        """Keep an answer on the node, and above what was just killed."""
        if not math.isfinite(answer) or answer <= last:
            answer = self.node if last == 0.0 else 2.0 * last
        return min(max(self.given(answer), 1e-6), self.node)
