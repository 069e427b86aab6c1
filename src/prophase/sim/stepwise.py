"""A replay step by step, in plain Python: for policies that see the whole state.

A policy is a function of a ``ClusterState``. It is called at every instant at which something has
happened, after completions and arrivals, and starts jobs (``state.start``), stops them
(``state.stop``) or asks to be called again later (``state.wake``). It is slow, some thousand jobs
per second at best, and obvious. Who only ranks jobs or nodes writes an order or a placement, which
compiled loops follow.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophase.errors import InputError, ParameterError
from prophase.plural import counted
from prophase.sim.attempts import FINISHED, OUT_OF_MEMORY, PREEMPTED, RESIZED, Attempts
from prophase.sim.cluster import Cluster
from prophase.sim.compilation import interpreted
from prophase.sim.feasibility import keep_fitting, never_fit, with_types
from prophase.sim.kernels import gang_placement, node_resources
from prophase.sim.kernels.request_shapes import shapes_of
from prophase.sim.kernels.score_trees import SCAN, TREE_COLUMNS, ScoreTrees
from prophase.sim.kernels.score_trees import Policy as Placement
from prophase.sim.policies import named, place_policies
from prophase.sim.rules.dependencies import (
    Dependencies,
    DependencyGraph,
    as_dependencies,
    submitted_with_their_run,
)
from prophase.sim.rules.speed_and_sharing import Speeds, as_speeds, kinds_of
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import (
    ASK_COLUMNS,
    ASK_CPU,
    ASK_INSTANCES,
    ASK_MEMORY,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    GPU_TYPE,
    GPUS,
    Floats,
    Ints,
)
from prophase.sim.static_loop import PlaceSettings
from prophase.sim.workload import Workload

_INSTANCES = np.arange(ASK_COLUMNS) == ASK_INSTANCES


class Pace:
    """How fast jobs are where they run: as fast as in the trace, unless a rule says otherwise."""

    #: which jobs may run with more or fewer workers
    elastic: NDArray[np.bool_] | None = None

    def rate(self, job: int, nodes: Ints) -> float:
        """Return the speed of a job on these nodes, one entry per instance; 1: as in the trace."""
        return 1.0


class _TypePace(Pace):
    """How fast each kind of job is on the GPU types of its nodes; the slowest one holds it up."""

    def __init__(self, speeds: Speeds, workload: Workload, cluster: Cluster) -> None:
        self._kind, kinds = kinds_of(workload, speeds.kind_column)
        self._speed = speeds.matrix(kinds, cluster.gpu_types)
        self._type = cluster.matrix[:, GPU_TYPE]

    def rate(self, job: int, nodes: Ints) -> float:
        """Return the speed of a job on these nodes, one entry per instance."""
        return float(self._speed[self._kind[job], self._type[nodes]].min())


class RunStretch(NamedTuple):
    """A time in which a job ran with the same workers."""

    job: int
    start_s: float
    end_s: float
    outcome: int
    #: node and GPU bits of each instance
    rows: Ints
    lost_s: float
    #: number of the request that each instance held
    kind: int


class ClusterState:
    """What a policy sees, and what it may do.

    Jobs are rows of ``workload``, in order of submission.

    Attributes
    ----------
    now : float
        The clock, in seconds of the trace.
    queue : list of int
        Waiting jobs, in order of submission.
    running : dict
        Running job -> when it started.
    release_s : array
        When each job joined the queue: its submission, or the end of the last job it waits for.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        place: PlaceSettings,
        graph: DependencyGraph | None = None,
        pace: Pace | None = None,
        further: Ints | None = None,
    ) -> None:
        self.workload, self.cluster, self.graph = workload, cluster, graph
        self._pace = pace or Pace()
        self.release_s = np.array(workload.submit_s)
        self.now = float(workload.submit_s[0])
        self.queue: list[int] = []
        self.running: dict[int, float] = {}
        #: running job -> when it ends if nothing changes
        self.ends: dict[int, float] = {}
        self.ended: list[RunStretch] = []
        self.wakes: list[float] = []
        #: how many starts and stops there were
        self.changes = 0
        asks = workload.asks
        if self._pace.elastic is not None:
            # workers of elastic jobs are placed one by one
            asks = np.where(self._pace.elastic[:, None] & _INSTANCES, 1, asks)
        #: kinds of requests that jobs do not begin with, in the order in which they were given
        self.further_kinds: Ints
        asks = asks if further is None else np.concatenate([asks, further])
        shapes, kinds = shapes_of(asks)
        self._shape_of, self.further_kinds = kinds[: len(workload)], kinds[len(workload) :]
        self._asks, self._nodes = shapes, np.array(cluster.matrix, np.int64, order="C")
        log = np.zeros(1 << len(cluster).bit_length(), np.int64)
        look_at_all = np.full((len(shapes), TREE_COLUMNS), SCAN, np.int64)
        self._trees = ScoreTrees(np.empty((1, 2)), look_at_all, log, np.zeros(1, np.int64))
        score, choose_gpu = map(interpreted, (place.score, place.choose_gpu))
        self._place = Placement(score, choose_gpu, place.rules())
        self._held: dict[int, Ints] = {}
        #: of a running job: when its workers last changed, work left then, time to restart
        self._since: dict[int, tuple[float, float, float]] = {}

    @property
    def free(self) -> Ints:
        """What nodes have free, one row each: milli-GPUs, milli-cores, MiB."""
        return self._nodes[:, [FREE_GPU, FREE_CPU, FREE_MEMORY]]

    @property
    def free_gpus(self) -> Floats:
        """Free GPUs of each node."""
        gpus: Floats = self._nodes[:, FREE_GPU] / 1000.0
        return gpus

    def instances(self, job: int) -> int:
        """Return how many instances a job has, which start together."""
        return int(self.workload.asks[job, ASK_INSTANCES])

    def fits(self, job: int, node: int) -> bool:
        """Tell whether one instance of a job could start on a node now."""
        if not self._is_node(node):
            nodes = counted(len(self.cluster), "node")
            raise ParameterError(f"{node!r} is no node: the cluster has {nodes} from 0 on.")
        shape = self._shape_of[job]
        fit = interpreted(node_resources.fits)(
            self._nodes, node, self._asks, shape, self._place.rules.pooled
        )
        return bool(fit)

    def score(self, job: int, node: int) -> float:
        """Return how the place policy rates a node for a job; the highest takes it."""
        shape = int(self._shape_of[job])
        rules = self._place.rules
        return float(self._place.score(self._nodes, node, self._asks, shape, rules.facts))

    def run_s(self, job: int, node: int) -> float:
        """Return how long a job would run if all its instances were on a node like this one."""
        return float(self.workload.duration_s[job]) / self._pace.rate(job, np.array([node]))

    def could_start(self, job: int, without: Sequence[int] = ()) -> bool:
        """Tell whether all instances of a job would find room now, or if some jobs did not run."""
        before = self._nodes.copy()
        for other in without:
            self._free(other, self._held[other])
        fits = self._placed(job) is not None
        self._nodes[:] = before
        return fits

    def kind(self, job: int) -> int:
        """Return a number that jobs with the same request share."""
        return int(self._shape_of[job])

    def requests(self, kinds: Sequence[int]) -> Ints:
        """Return the milli-cores and MiB of these kinds, one row each."""
        return self._asks[np.array(kinds, np.int64)][:, [ASK_CPU, ASK_MEMORY]]

    @contextmanager
    def _hidden(self, among: Ints | None) -> Iterator[None]:
        """Hide the nodes that may not be chosen."""
        others = np.zeros(len(self._nodes), np.bool_)
        if among is not None:
            others[:] = True
            others[among] = False
        free = self._nodes[others, FREE_CPU]
        self._nodes[others, FREE_CPU] = -1
        try:
            yield
        finally:
            self._nodes[others, FREE_CPU] = free

    def start(
        self,
        job: int,
        nodes: Sequence[int] | None = None,
        *,
        workers: int | None = None,
        among: Ints | None = None,
    ) -> bool:
        """Start a waiting job; tell whether it had room.

        Parameters
        ----------
        nodes : sequence of int, optional
            Where each of its instances goes; else the place policy chooses.
        workers : int, optional
            Instances of an elastic job; else as many as it asks for.
        among : array of int, optional
            Nodes among which the place policy chooses; else all.
        """
        if job not in self.queue:
            raise ParameterError(f"job {self._name(job)} is not waiting, so it cannot be started.")
        if nodes is not None:
            rows = self._placed_on(job, nodes)
        else:
            with self._hidden(among):
                rows = self._placed(job, workers)
        if rows is None:
            return False
        self.queue.remove(job)
        self.running[job] = self.now
        self._hold(job, rows, float(self.workload.duration_s[job]), 0.0)
        self.changes += 1
        return True

    def workers(self, job: int) -> int:
        """Return how many instances a running job has now."""
        return len(self._held[job])

    def resize(self, job: int, workers: int, *, restart_s: float = 0.0) -> int:
        """Give a running elastic job other workers; return how many it got.

        Its work is kept. Where there is no room for all, it gets as many as there is room for.
        """
        if job not in self.running:
            raise ParameterError(f"job {self._name(job)} does not run, so it cannot be resized.")
        if self._pace.elastic is None or not self._pace.elastic[job] or workers < 1:
            raise ParameterError(f"job {self._name(job)} cannot run with {workers} workers.")
        rows = self._held[job]
        if workers < len(rows):
            self._free(job, rows[workers:])
            new = rows[:workers]
        else:
            more = [rows]
            while sum(map(len, more)) < workers and (one := self._placed(job, 1)) is not None:
                more.append(one)
            new = np.concatenate(more)
        if len(new) != len(rows):
            left_s, _ = self._note_end(job, RESIZED)
            self._hold(job, new, left_s, restart_s)
            self.changes += 1
        return len(new)

    def ask(self, job: int, kind: int) -> None:
        """Let a waiting job ask for another kind of request from now on."""
        self._shape_of[job] = kind

    def hold(self, job: int, kind: int) -> bool:
        """Let a running job hold other cores and memory where it is; tell whether there was room.

        Its GPUs stay, and so does its work.
        """
        rows, amounts = self._held[job], [ASK_CPU, ASK_MEMORY]
        more = self._asks[kind, amounts] - self._asks[self._shape_of[job], amounts]
        before = self._nodes[:, [FREE_CPU, FREE_MEMORY]]
        after = before.copy()
        np.subtract.at(after, rows[:, 0], more)
        if (after[rows[:, 0]] < np.minimum(before[rows[:, 0]], 0)).any():
            return False
        left_s, _ = self._note_end(job, RESIZED)
        self._nodes[:, [FREE_CPU, FREE_MEMORY]] = after
        self._shape_of[job] = kind
        self._hold(job, rows, left_s, 0.0)
        self.changes += 1
        return True

    def _hold(self, job: int, rows: Ints, left_s: float, restart_s: float) -> None:
        """Let a job run on its rows from now on."""
        self._held[job], self._since[job] = rows, (self.now, left_s, restart_s)
        self.ends[job] = self.now + restart_s + left_s / self._pace.rate(job, rows[:, 0])

    def _note_end(self, job: int, outcome: int) -> tuple[float, Ints]:
        """Note what ran with these workers; return the work left and the rows that were held."""
        rows, (since, left_s, restart_s) = self._held.pop(job), self._since.pop(job)
        del self.ends[job]
        ran_s = self.now - since
        worked_s = max(0.0, ran_s - restart_s) * self._pace.rate(job, rows[:, 0])
        lost_s = ran_s if outcome in (PREEMPTED, OUT_OF_MEMORY) else min(ran_s, restart_s)
        if ran_s > 0 or outcome != RESIZED:
            kind = int(self._shape_of[job])
            self.ended.append(RunStretch(job, since, self.now, outcome, rows.copy(), lost_s, kind))
        return max(0.0, left_s - worked_s), rows

    def stop(self, job: int, outcome: int = PREEMPTED) -> None:
        """Stop a running job: it waits again, and begins from the beginning."""
        if job not in self.running:
            raise ParameterError(f"job {self._name(job)} does not run, so it cannot be stopped.")
        started = self.running[job]
        self._end(job, outcome)
        self._lose(job, started)
        self.queue.append(job)
        self.queue.sort()
        self.changes += 1

    def _lose(self, job: int, started: float) -> None:
        """Note that what a job did since its start has to be done again."""
        for place in range(len(self.ended) - 1, -1, -1):
            one = self.ended[place]
            if one.end_s < started:
                break
            if one.job == job and one.start_s >= started:
                self.ended[place] = one._replace(lost_s=one.end_s - one.start_s)

    def wake(self, at_s: float) -> None:
        """Ask to be called at a later instant even if nothing happens then."""
        if not self.now < at_s < np.inf:
            raise ParameterError(f"wake({at_s}): give an instant after now ({self.now}).")
        heapq.heappush(self.wakes, float(at_s))

    def finish(self, job: int) -> None:
        """End a job that has run for its whole length; the replay calls this."""
        self._end(job, FINISHED)

    def _end(self, job: int, outcome: int) -> None:
        _, rows = self._note_end(job, outcome)
        self._free(job, rows)
        del self.running[job]

    def _placed(self, job: int, workers: int | None = None) -> Ints | None:
        """Place all instances by the place policy; None if there is no room."""
        shape = int(self._shape_of[job])
        count = self.instances(job) if workers is None else workers
        rows = np.full((count, 2), -1, np.int64)
        place_gang = interpreted(gang_placement.place_gang)
        for first in range(0, count, int(self._asks[shape, ASK_INSTANCES])):
            if not place_gang(
                self._place, self._nodes, self._asks, shape, self._trees, rows, first
            ):
                self._free(job, rows[:first])
                return None
        return rows

    def _placed_on(self, job: int, nodes: Sequence[int]) -> Ints | None:
        """Place the instances on given nodes; None if one of them has no room."""
        wanted = self.instances(job)
        if len(nodes) != wanted or not all(map(self._is_node, nodes)):
            raise ParameterError(
                f"job {self._name(job)} has {counted(wanted, 'instance')}, the cluster "
                f"{counted(len(self.cluster), 'node')} from 0 on; {list(nodes)} is no place for "
                "it. Name one node per instance, or none."
            )
        rows = np.full((wanted, 2), -1, np.int64)
        for row, node in enumerate(nodes):
            if not self.fits(job, node):
                self._free(job, rows[:row])
                return None
            rows[row] = node, self._take_on(job, node)
        return rows

    def _is_node(self, node: object) -> bool:
        return isinstance(node, int | np.integer) and 0 <= int(node) < len(self.cluster)

    def _take_on(self, job: int, node: int) -> int:
        """Take what one instance asks for on a node; return its GPUs as a bit set."""
        take, rules = interpreted(node_resources.take), self._place.rules
        bits = take(
            self._place.choose_gpu, self._nodes, node, self._asks, int(self._shape_of[job]),
            rules.facts, rules.pooled,
        )  # fmt: skip
        return int(bits)

    def _free(self, job: int, rows: Ints) -> None:
        give_back = interpreted(node_resources.give_back)
        for node, bits in rows:
            give_back(self._nodes, node, self._asks, int(self._shape_of[job]), int(bits))

    def _name(self, job: int) -> str:
        if isinstance(job, int | np.integer) and 0 <= job < len(self.workload):
            return str(self.workload.jobs["job_id"].iloc[job])
        return repr(job)


def instants(state: ClusterState) -> Iterator[ClusterState]:
    """Yield the state at every instant at which something has happened, until all jobs ended.

    Whoever loops over it starts and stops jobs in between.
    """
    ends: list[tuple[float, int]] = []
    known: dict[int, float] = {}
    arrivals = _Arrivals(state)
    while True:
        for job, end in state.ends.items():
            if known.get(job) != end:
                known[job] = end
                heapq.heappush(ends, (end, job))
        while ends and state.ends.get(ends[0][1]) != ends[0][0]:
            heapq.heappop(ends)
        upcoming = [ends[0][0]] if ends else []
        if arrivals.coming:
            upcoming.append(arrivals.coming[0][0])
        if state.wakes and (state.queue or state.running):
            upcoming.append(state.wakes[0])
        if not upcoming:
            return
        state.now = min(upcoming)
        while state.wakes and state.wakes[0] <= state.now:
            heapq.heappop(state.wakes)
        while ends and ends[0][0] <= state.now:
            end, job = heapq.heappop(ends)
            if state.ends.get(job) == end:
                state.finish(job)
                del known[job]
                arrivals.after(job)
        arrivals.join_queue()
        yield state


class _Arrivals:
    """Jobs that have not joined the queue: those that come, and those that wait for others."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._unmet = np.zeros(len(state.workload), np.int64)
        self._last_end = np.full(len(state.workload), -np.inf)
        self._children: dict[int, list[int]] = {}
        if state.graph is not None:
            self._unmet = np.bincount(state.graph.child, minlength=len(state.workload))
            for child, parent in zip(state.graph.child, state.graph.parent, strict=True):
                self._children.setdefault(int(parent), []).append(int(child))
        #: (instant, job), the next first
        self.coming = [
            (float(state.workload.submit_s[job]), int(job))
            for job in np.flatnonzero(self._unmet == 0)
        ]

    def after(self, job: int) -> None:
        """Let the jobs come that waited for this one alone."""
        workload, now, graph = self._state.workload, self._state.now, self._state.graph
        for child in self._children.get(job, ()):
            self._unmet[child] -= 1
            end = now if workload.duration_s[job] > 0 else float(np.nextafter(now, np.inf))
            end = self._last_end[child] = max(end, float(self._last_end[child]))
            if self._unmet[child] == 0 and graph is not None:
                lag = float(graph.lag_s[child])
                at = end + lag if np.isfinite(lag) else max(float(workload.submit_s[child]), end)
                self._state.release_s[child] = at
                heapq.heappush(self.coming, (at, child))

    def join_queue(self) -> None:
        """Put the jobs into the queue that have come."""
        while self.coming and self.coming[0][0] <= self._state.now:
            insort(self._state.queue, heapq.heappop(self.coming)[1])


def simulate_steps(
    workload: Workload,
    cluster: Cluster,
    policy: Callable[[ClusterState], object],
    *,
    place: str = "best_fit",
    depends: Dependencies | str | None = None,
    speeds: Speeds | str | None = None,
    leave_out_unfit: bool = False,
    seed: int = 0,
) -> Schedule:
    """Replay a workload under a policy written in plain Python.

    Parameters
    ----------
    policy : function
        Called with the state at every instant; starts and stops jobs.
    place : str
        Which node a job goes to that is started without saying where.
    depends : Dependencies or str, optional
        Column with the ids of the jobs that a job waits for, as ``simulate`` takes it.
    speeds : Speeds or str, optional
        How fast kinds of jobs run on GPU types, as ``simulate`` takes it; ``state.run_s`` says
        what that makes of a job on a node.

    Examples
    --------
    >>> import pandas as pd
    >>> def widest_first(state):
    ...     for job in sorted(state.queue, key=lambda job: -state.workload.gpus[job]):
    ...         state.start(job)
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 60.0})
    >>> jobs["request_gpus"] = [1.0, 2.0]
    >>> workload = Workload.from_jobs(jobs)
    >>> simulate_steps(workload, Cluster.parse("1x2"), widest_first).wait_s.tolist()
    [60.0, 0.0]
    """
    state = open_state(
        workload,
        cluster,
        place=place,
        depends=depends,
        speeds=speeds,
        leave_out_unfit=leave_out_unfit,
        seed=seed,
    )
    if not callable(policy):
        raise ParameterError(
            f"policy is {policy!r}: pass a function that takes the state. Orders by name are for "
            "simulate(order=...)."
        )
    name = getattr(policy, "__name__", type(policy).__name__)
    for _ in instants(state):
        try:
            policy(state)
        except ParameterError as cause:
            raise ParameterError(f"policy {name} at {state.now:g} s: {cause}") from cause
    return schedule_of(state, name, place)


def open_state(
    workload: Workload,
    cluster: Cluster,
    *,
    place: str,
    depends: Dependencies | str | None = None,
    speeds: Speeds | str | None = None,
    leave_out_unfit: bool,
    seed: int,
) -> ClusterState:
    """Return the state before the first job came."""
    policy = named(place, place_policies(), "place")
    if depends is not None:
        workload = submitted_with_their_run(workload)
    workload, _ = workload.spread_over(int(cluster.matrix[:, GPUS].max()))
    asks = with_types(workload, cluster)
    why = "fit on no node of this cluster even when it is empty"
    workload, asks = keep_fitting(
        workload, asks, never_fit(asks, cluster), why, cluster, leave_out=leave_out_unfit
    )
    workload = replace(workload, asks=asks)
    waits_for = as_dependencies(depends)
    graph = None if waits_for is None else waits_for.graph(workload)
    typed = as_speeds(speeds, workload)
    pace = None if typed is None else _TypePace(typed, workload, cluster)
    return ClusterState(workload, cluster, policy.settings(asks, cluster, seed), graph, pace)


def schedule_of(state: ClusterState, order: str, place: str) -> Schedule:
    """Return what was decided, once all jobs have ended."""
    if state.queue:
        names = [state._name(job) for job in state.queue[:5]]
        raise InputError(
            f"{counted(len(state.queue), 'job')} would wait for ever ({', '.join(names)} "
            f"{'among them' if len(state.queue) > len(names) else 'in all'}): nothing runs "
            f"any more, and policy {order} starts none of them. Let it start a job whenever the "
            "cluster is empty, or call state.wake()."
        )
    done = {one.job for one in state.ended if one.outcome == FINISHED}
    if lost := sorted(set(range(len(state.workload))) - done):
        raise InputError(
            f"policy {order} took {counted(len(lost), 'job')} out of state.queue without starting "
            f"{'it' if len(lost) == 1 else 'them'}, {state._name(lost[0])} first. Leave the queue "
            "as it is: state.start() takes a job out of it."
        )
    workload, row_of = state.workload, np.arange(len(state.workload))
    if state.graph is not None:
        workload = workload.released_at(state.release_s)
        row_of[state.workload.rows_in_order_of(state.release_s)] = np.arange(len(workload))
    ran = sorted(state.ended, key=lambda one: (one.start_s, one.job))
    count = np.array([len(one.rows) for one in ran], np.int64)
    job = np.array([one.job for one in ran], np.int64)
    rows = np.concatenate([np.zeros((0, 2), np.int64), *(one.rows for one in ran)])
    asks = None
    held = state.workload.asks[job]
    held[:, [ASK_CPU, ASK_MEMORY]] = state.requests([one.kind for one in ran])
    held[:, ASK_INSTANCES] = count
    if (held != state.workload.asks[job]).any():
        asks = held
    attempts = Attempts(
        job=row_of[job],
        start_s=np.array([one.start_s for one in ran]),
        end_s=np.array([one.end_s for one in ran]),
        outcome=np.array([one.outcome for one in ran], np.int8),
        first_instance=np.cumsum(count) - count,
        node=rows[:, 0].copy(),
        gpu_bits=rows[:, 1].copy(),
        lost_s=np.array([one.lost_s for one in ran]),
        asks=asks,
    )
    left = state.workload.left_out.items()
    notes = [f"{counted(number, 'job')} left out: {why}" for why, number in left]
    return Schedule(workload, state.cluster, attempts, order, place, "own", tuple(notes), None)
