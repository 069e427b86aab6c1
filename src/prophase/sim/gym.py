"""Scheduling as a Gymnasium environment, on the loop that policies in plain Python use.

At every instant the agent starts one of the first waiting jobs, as often as it likes, or lets time
go on to the next event. It sees those jobs (GPUs, cores, instances, hours to run, hours waited),
how long the queue is, and how much of each node is free, all from 0 to 1. Its reward is
minus the time that jobs wait, so the sum over an episode is minus the mean wait (times a scale).
Needs the extra ``gym``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from prophase.errors import ParameterError
from prophase.plural import counted
from prophase.sim.cluster import Cluster
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import CPU, GPUS, Floats
from prophase.sim.stepwise import ClusterState, instants, open_state, schedule_of
from prophase.sim.workload import Workload

#: of each visible job: GPUs, cores, instances, believed or true run time, time waited; is it there?
_JOB_NUMBERS = 6
_HOUR_S = 3600.0


class SchedulingEnv(gymnasium.Env[Floats, int]):  # type: ignore[misc]
    """Start waiting jobs or let time go on.

    Actions 0 ... ``slots`` - 1 start that job of the queue; ``slots`` lets time go on. A job that
    does not fit, or a place of the queue that is empty, is masked (``action_masks``); chosen all
    the same, time goes on, and ``info["refused"]`` says why.

    Parameters
    ----------
    workload : Workload, or function
        The jobs of an episode; a function takes a seed and returns them, so that episodes differ.
    cluster : Cluster
    slots : int, default=16
        Waiting jobs that the agent sees, in order of submission.
    estimate : str, default="duration_s"
        Column of the job table with the run times that the agent sees.
    place : str, default="best_fit"
        Which node a job goes to.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": [60.0, 5.0]})
    >>> jobs["request_gpus"] = 1.0
    >>> env = SchedulingEnv(Workload.from_jobs(jobs), Cluster.parse("1x1"), slots=4)
    >>> observation, info = env.reset(seed=0)
    >>> env.action_masks().tolist()
    [True, True, False, False, True]
    >>> _, reward, ended, _, _ = env.step(1)  # the short one first
    >>> _, reward, ended, _, _ = env.step(4)  # it ends after 5 s, in which the other waited
    >>> round(reward * 3600 * 2), ended
    (-5, False)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        workload: Workload | Callable[[int], Workload],
        cluster: Cluster,
        *,
        slots: int = 16,
        estimate: str = "duration_s",
        place: str = "best_fit",
    ) -> None:
        if not isinstance(slots, int) or slots < 1:
            raise ParameterError(f"slots = {slots}: the agent has to see at least one job.")
        if not isinstance(cluster, Cluster):
            raise ParameterError(
                f"cluster is {cluster!r}: pass a Cluster, as Cluster.parse('4x8')."
            )
        self._workload, self._cluster, self._place = workload, cluster, place
        self._slots, self._estimate = slots, estimate
        size = slots * _JOB_NUMBERS + 2 * len(cluster) + 1
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (size,), np.float64)
        self.action_space = gymnasium.spaces.Discrete(slots + 1)
        self._state: ClusterState | None = None
        self._steps: Iterator[ClusterState] = iter(())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(1 << 31))
        workload = self._workload(drawn) if callable(self._workload) else self._workload
        if not isinstance(workload, Workload):
            raise ParameterError(
                f"the episode's jobs are {workload!r}: pass a Workload, or a function that takes a "
                "seed and returns one, as Workload.from_jobs(table)."
            )
        if self._estimate not in workload.jobs:
            raise ParameterError(f"the job table has no column {self._estimate} with estimates.")
        self._state = open_state(
            workload, self._cluster, place=self._place, leave_out_unfit=True, seed=drawn
        )
        self._steps = instants(self._state)
        next(self._steps)
        return self._observation(), {"now_s": self._state.now}

    def step(self, action: int) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Start a job, or let time go on to the next event."""
        state = self._open()
        if not self.action_space.contains(action):
            raise ParameterError(f"action {action!r} is none of 0 to {self._slots}.")
        if action < min(self._slots, len(state.queue)) and state.start(state.queue[action]):
            return self._observation(), 0.0, False, False, {"now_s": state.now}
        refused = self._why_refused(action)
        before, waiting = state.now, len(state.queue)
        ended = next(self._steps, None) is None
        stuck = ended and bool(state.queue)
        passed = waiting * (state.now - before)
        reward = -passed / len(state.workload) / _HOUR_S
        info: dict[str, Any] = {
            "now_s": state.now,
            "waiting_for_ever": len(state.queue) if stuck else 0,
        }
        if refused:
            info["refused"] = refused
        # jobs that nobody started before the last event: the episode is cut off
        return self._observation(), reward, ended and not stuck, stuck, info

    def _why_refused(self, action: int) -> str:
        """Say why an action starts no job; nothing where it lets time go on, as it should."""
        state = self._open()
        if action == self._slots:
            return ""
        if action >= len(state.queue):
            waiting = counted(len(state.queue), "job")
            return f"action {action}: only {waiting} in the queue, so time goes on"
        job = state.workload.jobs["job_id"].iloc[state.queue[action]]
        return f"action {action}: job {job} does not fit now, so time goes on"

    def action_masks(self) -> NDArray[np.bool_]:
        """Tell which actions do something: jobs that fit now, and letting time go on."""
        state = self._open()
        masks = np.zeros(self._slots + 1, np.bool_)
        masks[-1] = True
        for slot, job in enumerate(state.queue[: self._slots]):
            masks[slot] = state.could_start(job)
        return masks

    def schedule(self) -> Schedule:
        """Return the schedule of an episode that has ended."""
        return schedule_of(self._open(), "agent", self._place)

    def _open(self) -> ClusterState:
        if self._state is None:
            raise ParameterError("no episode has begun: call reset() first.")
        return self._state

    def _observation(self) -> Floats:
        state = self._open()
        workload, seen = state.workload, np.zeros((self._slots, _JOB_NUMBERS))
        believed = workload.jobs[self._estimate].to_numpy(np.float64)
        for slot, job in enumerate(state.queue[: self._slots]):
            seen[slot] = (
                workload.gpus[job],
                workload.cores[job],
                state.instances(job),
                believed[job] / _HOUR_S,
                (state.now - workload.submit_s[job]) / _HOUR_S,
                1.0,
            )
        owned = np.maximum(self._cluster.matrix[:, [GPUS, CPU]], 1)
        free = np.maximum(state.free[:, :2], 0) / (owned * [1000, 1])
        amounts = np.append(seen.ravel(), float(len(state.queue)))
        # x / (1 + x): every number from 0 to 1, large ones side by side
        return np.concatenate([amounts / (1.0 + amounts), np.minimum(free.ravel(), 1.0)])
