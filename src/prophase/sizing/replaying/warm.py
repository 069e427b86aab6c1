"""The literature's protocol: some history of every task first, then the rest in random order."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from prophase.errors import InputError
from prophase.sizing.replaying.tasks import TaskRun

#: instances a task must have to take part
FEWEST = 34
HISTORY = 0.3


def warm_split(runs: list[TaskRun], seed: int = 0) -> tuple[list[TaskRun], list[TaskRun]]:
    """Return a random 30 % of every task as history, and the rest in random order.

    Tasks with fewer than 34 instances, and instances without a run time, are left out.
    """
    generator = np.random.default_rng(seed)
    timed = [run for run in runs if run.runtime_h > 0]
    counts = Counter(run.task for run in timed)
    by_task: defaultdict[str, list[TaskRun]] = defaultdict(list)
    for run in timed:
        if counts[run.task] >= FEWEST:
            by_task[run.task].append(run)
    if not by_task:
        raise InputError(
            f"no task has {FEWEST} instances with a run time, which a warm start needs. "
            "Replay with --protocol online or timeline."
        )
    history, rest = [], []
    for members in by_task.values():
        order = generator.permutation(len(members))
        cut = int(HISTORY * len(members))
        history += [members[place] for place in order[:cut]]
        rest += [members[place] for place in order[cut:]]
    return history, [rest[place] for place in generator.permutation(len(rest))]
