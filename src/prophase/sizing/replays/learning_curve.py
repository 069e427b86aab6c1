"""How a sizer learns: what it requests from the first run of a task on.

The same counted from a change of a task's code says how fast it notices, and what it costs
until then.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sizing.replays.replay import Replayed, SizedRun

#: last run number of each step of the curve
STEPS = (1, 2, 3, 5, 8, 13, 20, 30, 50, 80, 130, 200, 500, 2000)


def learning_curve(decisions: Iterable[SizedRun], *, steps: Sequence[int] = STEPS) -> pd.DataFrame:
    """Return what was asked for by the number of the run of its task.

    Parameters
    ----------
    decisions : iterable of SizedRun
        The decisions of a replay, in its order.
    steps : sequence of int
        Last run number of each step; what lies beyond is left out.

    Returns
    -------
    DataFrame
        ``first_run``, ``last_run``, ``decisions``, ``asked_over_peak`` (median over tasks of
        the first request over the peak), ``waste_of_request`` (waste relative to that of the
        users' requests) and ``killed_pct``.
    """
    numbers: defaultdict[str, int] = defaultdict(int)

    def number(one: SizedRun) -> int:
        numbers[one.run.task] += 1
        return numbers[one.run.task]

    return _stepped(decisions, number, steps)


def curve_since(
    decisions: Iterable[SizedRun],
    task: str,
    moment_s: float,
    *,
    steps: Sequence[int] = STEPS,
    before: int = 100,
) -> pd.DataFrame:
    """Return the same for one task, counted from a moment such as a change of its code.

    Parameters
    ----------
    moment_s : float
        Runs submitted from then on are counted 1, 2, 3 ...
    before : int, default=100
        So many runs before the moment make the first row, from ``-before`` to 0.
    """
    mine = [one for one in decisions if one.run.task == task]
    after = [one for one in mine if one.run.submit_s >= moment_s]
    earlier = [one for one in mine if one.run.submit_s < moment_s][-before:]
    if not after or not earlier:
        raise InputError(
            f"{task} has {len(earlier)} runs before the moment {moment_s:g} and {len(after)} after "
            "it; both are needed to see a change."
        )
    counter = iter(range(1, len(after) + 1))
    past = _row(earlier, 1 - len(earlier), 0)
    return pd.concat(
        [pd.DataFrame([past]), _stepped(after, lambda one: next(counter), steps)], ignore_index=True
    )


def _stepped(
    decisions: Iterable[SizedRun], number: Callable[[SizedRun], int], steps: Sequence[int]
) -> pd.DataFrame:
    if not steps or list(steps) != sorted(set(steps)) or steps[0] < 1:
        raise ParameterError(f"steps are {list(steps)}; give rising run numbers from 1 up.")
    held: list[list[SizedRun]] = [[] for _ in steps]
    for one in decisions:
        place = int(np.searchsorted(steps, number(one)))
        if place < len(steps):
            held[place].append(one)
    firsts = [1, *(step + 1 for step in steps[:-1])]
    rows = [
        _row(many, first, last)
        for many, first, last in zip(held, firsts, steps, strict=True)
        if many
    ]
    return pd.DataFrame(rows)


def _row(many: Sequence[SizedRun], first: int, last: int) -> dict[str, float]:
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for one in many:
        if one.run.peak > 0:
            by_task[one.run.task].append(one.asked[0] / one.run.peak)
    asked = sum(
        (one.run.request - one.run.peak) * one.run.runtime_h
        for one in many
        if one.run.request > one.run.peak
    )
    wasted = sum(one.waste() for one in many)
    return {
        "first_run": first,
        "last_run": last,
        "decisions": len(many),
        "asked_over_peak": float(np.median([np.median(values) for values in by_task.values()])),
        "waste_of_request": wasted / asked if asked > 0 else float("nan"),
        "killed_pct": 100 * sum(len(one.asked) > 1 or one.unfit for one in many) / len(many),
    }


#: runs seen before, from which each point of the curve begins
STARTS = (0, 1, 2, 3, 5, 8, 12, 20, 35, 60, 100)


def cold_start_curve(replayed: Replayed) -> list[dict[str, float]]:
    """Return waste against the request's and the share of kills, by runs seen before.

    Runs seen before are those of the same task that were decided earlier in the replay.
    """
    seen: Counter[str] = Counter()
    table = {start: [0.0, 0.0, 0.0, 0.0] for start in STARTS}
    for decision in replayed.decisions:
        run = decision.run
        if run.request > 0:
            start = max(start for start in STARTS if start <= seen[run.task])
            cell = table[start]
            cell[0] += decision.waste()
            cell[1] += (run.request - run.peak) * run.runtime_h
            cell[2] += len(decision.asked) > 1
            cell[3] += 1
        seen[run.task] += 1
    return [
        {"seen": start, "relative": waste / users, "oom_share": kills / count, "tasks": count}
        for start, (waste, users, kills, count) in table.items()
        if count and users > 0
    ]
