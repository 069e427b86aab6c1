"""Several sizers on one trace, beside today's requests, with the literature's warm start."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.sizing.registry import make_online_sizer
from prophase.sizing.replays.replay import PROTOCOLS, Replayed, replay
from prophase.sizing.replays.task_runs import TaskRun, TaskRuns, Track, task_runs
from prophase.sizing.resources import sized_resource
from prophase.sizing.sizer import Outcome

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


AnyProtocol = Literal["online", "timeline", "warm"]
ALL_PROTOCOLS = (*PROTOCOLS, "warm")


def compare(
    jobs: pd.DataFrame,
    sizers: Sequence[str] = ("request", "maximum", "krr", "default"),
    *,
    protocol: AnyProtocol = "online",
    track: Track = "input",
    risk: float | None = None,
    node: float | None = None,
    resource: str = "memory",
    seed: int = 0,
    show: Callable[[str, float], None] = lambda name, percent: None,
) -> JsonObject:
    """Replay a trace through several sizers.

    Parameters
    ----------
    jobs : DataFrame
        Finished jobs with peaks and run times.
    sizers : sequence of str
        Names from :data:`~prophase.sizing.SIZERS`.
    protocol : {"online", "timeline", "warm"}
        When sizers learn; ``warm`` gives them a random 30 % of every frequent task first.
    track : {"input", "strict"}
        Whether the bytes a task reads are known before it runs.
    risk : float, optional
        Passed to every sizer.
    node : float, optional
        The most that can be given; without it the largest request of the trace.
    resource : str
        One of :data:`~prophase.sizing.resources.RESOURCES`, or "auto".
    show : callable
        Called with a sizer's name and the percentage done.

    Returns
    -------
    dict
        What was replayed and left out, and one row per sizer.
    """
    if protocol not in ALL_PROTOCOLS:
        raise ParameterError(
            not_among(f"protocol {protocol!r} is unknown.", protocol, ALL_PROTOCOLS)
        )
    if node is not None and not node > 0:
        raise ParameterError(f"node is {node}, but a node has more than nothing.")
    resource = sized_resource(jobs, resource)
    runs = task_runs(jobs, track=track, resource=resource)
    for name in sizers:
        make_online_sizer(name, risk)
    rows = []
    users = _replayed("request", runs, protocol, None, node, seed, show).summary()["waste_h"]
    for name in sizers:
        done = _replayed(name, runs, protocol, risk, node, seed, show)
        found = done.summary()
        relative = found["waste_h"] / users if users > 0 else float("nan")
        rows.append({"sizer": name, "relative": relative, **found})
    return {
        "protocol": protocol,
        "track": track,
        "risk": risk,
        "resource": resource,
        "unit": runs.resource.saved_unit if runs.resource.held else "h of limit x h of run",
        "node": runs.largest_request if node is None else node,
        "left_out": runs.left_out,
        "grouped": runs.rule.sentence,
        "sizers": rows,
    }


def _replayed(
    name: str,
    runs: TaskRuns,
    protocol: AnyProtocol,
    risk: float | None,
    node: float | None,
    seed: int,
    show: Callable[[str, float], None],
) -> Replayed:
    sizer = make_online_sizer(name, risk)
    node = runs.largest_request if node is None else node

    if protocol != "warm":
        total = len(runs)
        return replay(
            runs, sizer, protocol=protocol, node=node,
            show=lambda done: show(name, 100 * done / total),
        )  # fmt: skip
    history, rest = warm_split(runs.runs, seed)
    sizer.learn(
        Outcome(run.task, {**run.features, "post": run.post}, run.peak, run.runtime_h)
        for run in history
    )
    return replay(rest, sizer, node=node, show=lambda done: show(name, 100 * done / len(rest)))
