"""How a sizer does from the first run of a task on."""

from __future__ import annotations

from collections import Counter

from prophase.sizing.replaying.replay import Replayed

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
