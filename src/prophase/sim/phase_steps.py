"""A step of a replay in which jobs hold what each phase of their run needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prophase.plural import counted
from prophase.sim.attempts import OUT_OF_MEMORY
from prophase.sim.rules.demand import PhasedJobs
from prophase.sim.signatures import ASK_CPU, ASK_MEMORY
from prophase.sim.stepwise import ClusterState


class PhaseByPhase:
    """Jobs hold what their phase needs; who finds no room for the next begins again.

    Whoever has to begin again asks for its largest phase from the beginning, so that it ends.
    """

    def __init__(
        self,
        phases: PhasedJobs,
        state: ClusterState,
        start: Callable[[ClusterState, list[int]], None],
    ) -> None:
        self._phases, self._start = phases, start
        count = len(phases.begin_s)
        self._kinds, self._largest = state.further_kinds[:count], state.further_kinds[count:]
        #: running job -> row of its phase
        self._at: dict[int, int] = {}
        self._whole: set[int] = set()
        self.no_room = self.took_more = 0
        for job, first in enumerate(phases.first[:-1]):
            state.ask(job, int(self._kinds[first]))

    def __call__(self, state: ClusterState, in_turn: list[int]) -> None:
        for job in [job for job in self._at if job not in state.running]:
            del self._at[job]
        due = [job for job in self._at if self._next_s(state, job) <= state.now]
        # those that give back go first
        due.sort(key=lambda job: (self._more(job), job))
        stopped = [job for job in due if not self._goes_on(state, job)]
        in_turn = [*in_turn, *stopped]
        while True:
            self._start(state, in_turn)
            killed = self._killed(state)
            if not killed:
                break
            # their room is for the others, and then for themselves
            others = [job for job in in_turn if job in state.queue and job not in killed]
            in_turn = [*others, *killed]
        coming = [self._next_s(state, job) for job in self._at]
        later = min((at for at in coming if state.now < at < np.inf), default=np.inf)
        if later < np.inf:
            state.wake(later)

    def _killed(self, state: ClusterState) -> list[int]:
        """Note the phase of jobs that started; return those that take too much from the start."""
        killed = []
        for job in [job for job in state.running if job not in self._at]:
            self._at[job] = int(self._phases.first[job])
            if self._phases.short[self._at[job]] and job not in self._whole:
                self.took_more += 1
                self._begin_again(state, job)
                killed.append(job)
        return killed

    def _next_s(self, state: ClusterState, job: int) -> float:
        """Return when the next phase of a running job begins."""
        row = self._at[job] + 1
        if row >= self._phases.first[job + 1] or job in self._whole:
            return np.inf
        return state.running[job] + float(self._phases.begin_s[row])

    def _more(self, job: int) -> float:
        row = self._at[job]
        rise = self._phases.asks[row + 1] - self._phases.asks[row]
        return float(max(rise[ASK_MEMORY], rise[ASK_CPU]))

    def _goes_on(self, state: ClusterState, job: int) -> bool:
        """Let a job enter its next phase; tell whether it runs on."""
        row = self._at[job] = self._at[job] + 1
        room = state.hold(job, int(self._kinds[row]))
        if room and not self._phases.short[row]:
            return True
        self.no_room += not room
        self.took_more += room
        self._begin_again(state, job)
        return False

    def _begin_again(self, state: ClusterState, job: int) -> None:
        del self._at[job]
        self._whole.add(job)
        state.stop(job, OUT_OF_MEMORY)
        state.ask(job, int(self._largest[job]))

    def told(self) -> tuple[str, ...]:
        """Say how many jobs could not go on."""
        said = [
            f"{counted(self.no_room, 'job')} found no room for the next phase",
            f"{counted(self.took_more, 'job')} took more memory than the phase holds",
        ]
        return (f"{said[0]}, {said[1]}; such a job begins again with its largest phase",)
