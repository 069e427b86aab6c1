"""Rules that only the loop in plain Python follows: elastic jobs, cohorts, racks, MIG, phases, and
reservations of nodes.

It takes orders whose keys stand still, and the queues skip and strict. Some thousand jobs take
seconds to minutes; a rule that it does not know is refused.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from prophase.errors import ParameterError
from prophase.plural import counted, listed
from prophase.sim.cluster import Cluster
from prophase.sim.feasibility import keep_fitting, never_fit, with_types
from prophase.sim.mig_state import MigState, as_shares
from prophase.sim.phase_steps import PhaseByPhase
from prophase.sim.policies import named, place_policies
from prophase.sim.rules.cohorts import LOWER, NEVER, Cohorts
from prophase.sim.rules.elastic import Elastic, ElasticJobs
from prophase.sim.rules.reservations import Reservations
from prophase.sim.rules.rule_set import STEP_RULES, SchedulingRules
from prophase.sim.rules.topology import Topology
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import ASK_INSTANCES, GPUS, Floats, Ints
from prophase.sim.stepwise import ClusterState, Pace, instants, schedule_of
from prophase.sim.workload import Workload
from prophase.units import duration

#: starts what may start now; the waiting jobs in the order of the queue
Pass = Callable[[ClusterState, list[int]], None]
#: starts a job where it should run; tells whether it had room
Start = Callable[[ClusterState, int], bool]
#: what jobs share of which none starts where one does not
Alike = Callable[[ClusterState, int], Hashable]
#: rules that say how orders share, and those that this loop follows
_FOLLOWED = (*STEP_RULES, "half_life_s", "depends", "defer")
_QUEUES = ("skip", "strict")
#: rules of this loop that another does not go with
_NOT_BESIDE = {
    "demand": ("elastic", "cohorts", "topology", "mig", "reservations"),
    "elastic": ("cohorts", "mig", "reservations"),
    "reservations": ("cohorts", "topology", "mig"),
}


@dataclass(frozen=True)
class StepSetting:
    """How jobs are ordered and placed in a replay step by step."""

    order: str
    #: the workload -> a key per job, smallest first
    key: Callable[[Workload], Floats]
    place: str
    queue: str
    leave_out_unfit: bool
    seed: int


def simulate_step_rules(
    workload: Workload, cluster: Cluster, rules: SchedulingRules, setting: StepSetting
) -> Schedule:
    """Replay jobs under rules that compiled loops do not know."""
    _refuse_others(rules, setting.queue)
    workload = _fitting(workload, cluster, rules, leave_out=setting.leave_out_unfit)
    jobs = None if rules.elastic is None else rules.elastic.jobs(workload)
    if jobs is not None:
        workload = jobs.workload
    else:
        workload, _ = workload.spread_over(int(cluster.matrix[:, GPUS].max()))
    asks = with_types(workload, cluster)
    workload = replace(workload, asks=asks)
    phases = None if rules.demand is None else rules.demand.jobs(workload)
    pace = _RulePace(jobs, rules.topology, cluster)
    place = named(setting.place, place_policies(), "place").settings(asks, cluster, setting.seed)
    further = None if phases is None else np.concatenate([phases.asks, phases.largest()])
    state = (
        ClusterState(workload, cluster, place, pace=pace, further=further)
        if rules.mig is None
        else MigState(workload, cluster, place, rules.mig, pace)
    )
    key = np.asarray(setting.key(workload), np.float64)
    start = _packed_start(rules.topology, pace.domains)
    alike: Alike = _kind
    unused: tuple[str, ...] = ()
    if rules.reservations is not None:
        reserved = Reservations.of(rules.reservations, workload, cluster)
        start, alike = _reserved_start(reserved, state)
        unused = reserved.unused()
    strict = setting.queue == "strict"
    step: Pass
    if rules.elastic is not None and jobs is not None:
        step = _Resizing(rules.elastic, jobs, strict)
    elif rules.cohorts is not None:
        step = _Lending(Cohorts.of(rules.cohorts, workload), workload.gpus, start, strict)
    elif phases is not None:
        step = PhaseByPhase(phases, state, _in_turn(start, alike, strict))
    else:
        step = _in_turn(start, alike, strict)
    for _ in instants(state):
        step(state, sorted(state.queue, key=lambda job: (key[job], job)))
        if isinstance(state, MigState):
            state.observe()
    schedule = schedule_of(state, setting.order, setting.place)
    followed = listed([name for name in STEP_RULES if getattr(rules, name) is not None])
    said = f"replayed step by step in plain Python, the only loop that follows {followed}"
    told = step.told() if isinstance(step, PhaseByPhase) else ()
    if isinstance(state, MigState):
        told = (_geometry(state),)
    notes = (*schedule.notes, *workload.unstated(), *unused)
    return replace(schedule, queue=setting.queue, notes=(*notes, *told, said))


def _geometry(state: MigState) -> str:
    """Say what the geometry of MIG instances cost."""
    asked = sum(bool(name) for name in state.profile)
    words = (
        f"MIG: {counted(asked, 'job')} with a profile waited {duration(state.waited_s)} in "
        f"all; in {duration(state.blocked_s)} of it a GPU had enough free slices, but "
        + ("no instance of it" if state.layout else "at no place where the profile may begin")
    )
    again = f"; empty GPUs were repartitioned {state.repartitions:,} times"
    return words + (again if state.repartitions else "")


def _refuse_others(rules: SchedulingRules, queue: str) -> None:
    """Refuse what this loop would not follow."""
    used = [name for name in STEP_RULES if getattr(rules, name) is not None]
    others = [
        f"{one.name}="
        for one in fields(rules)
        if one.name not in _FOLLOWED and getattr(rules, one.name) is not None
    ]
    if queue not in _QUEUES:
        others.append(f"queue={queue}")
    alone = next((name for name in _NOT_BESIDE if name in used), None)
    for name in () if alone is None else _NOT_BESIDE[alone]:
        if name in used:
            others.append(f"{name}=")
            used.remove(name)
    if others:
        raise ParameterError(
            f"{listed(others)} cannot be combined with {listed([f'{name}=' for name in used])}, "
            "which is replayed step by step with queue skip or strict and these rules: "
            f"{', '.join(STEP_RULES)}, depends. Leave one of them out."
        )


def _fitting(
    workload: Workload, cluster: Cluster, rules: SchedulingRules, *, leave_out: bool
) -> Workload:
    """Leave out, or refuse, jobs that could never start."""
    if rules.mig is not None:
        workload = as_shares(workload, rules.mig, cluster)
    if rules.elastic is not None:
        jobs = rules.elastic.jobs(workload)
        asks = with_types(jobs.workload, cluster).copy()
        asks[:, ASK_INSTANCES] = jobs.least
    else:
        spread = workload.spread_over(int(cluster.matrix[:, GPUS].max()))[0]
        asks = with_types(spread, cluster)
        if rules.demand is not None:
            asks = rules.demand.jobs(replace(spread, asks=asks)).largest()
    why = "fit on no node of this cluster even when it is empty"
    workload, _ = keep_fitting(
        workload, asks, never_fit(asks, cluster), why, cluster, leave_out=leave_out
    )
    if rules.mig is not None:
        place = named("first_fit", place_policies(), "place").settings(workload.asks, cluster, 0)
        typed = replace(workload, asks=with_types(workload, cluster))
        never = _never_divided(MigState(typed, cluster, place, rules.mig))
        why = "ask for more than the GPUs of this cluster, divided as they are, can ever give"
        workload, _ = keep_fitting(
            workload, workload.asks, never, why, cluster, leave_out=leave_out
        )
    if rules.cohorts is not None:
        over = Cohorts.of(rules.cohorts, workload).never(workload.gpus)
        why = "ask for more GPUs than their queue may ever hold and could never start"
        workload, _ = keep_fitting(workload, workload.asks, over, why, cluster, leave_out=leave_out)
    return workload


def _never_divided(empty: MigState) -> NDArray[np.bool_]:
    """Return which jobs find no room while nothing runs."""
    known: dict[int, bool] = {}
    for job in range(len(empty.workload)):
        kind = empty.kind(job)
        if kind not in known:
            known[kind] = not empty.could_start(job)
    return np.array([known[empty.kind(job)] for job in range(len(empty.workload))], np.bool_)


class _RulePace(Pace):
    """How fast a job is with its workers, where they are."""

    def __init__(
        self, jobs: ElasticJobs | None, topology: Topology | None, cluster: Cluster
    ) -> None:
        self._jobs, self._topology = jobs, topology
        self.elastic = None if jobs is None else jobs.elastic
        self.domains = (
            np.zeros(len(cluster), np.int64) if topology is None else topology.domain_of(cluster)
        )

    def rate(self, job: int, nodes: Ints) -> float:
        """Return the speed of a job on these nodes, one entry per instance."""
        rate = 1.0 if self._jobs is None else self._jobs.rate(job, len(nodes))
        return rate if self._topology is None else rate / self._topology.factor(self.domains, nodes)


def _packed_start(topology: Topology | None, domains: Ints) -> Start:
    """Return how jobs are started: on one node, else in one domain, else anywhere."""
    if topology is None or not topology.pack:
        return lambda state, job: state.start(job)
    racks = [np.flatnonzero(domains == rack) for rack in np.unique(domains)]
    places = [[np.array([node]) for node in range(len(domains))], racks]

    def start(state: ClusterState, job: int) -> bool:
        if state.instances(job) == 1:
            return state.start(job)
        if not state.could_start(job):
            return False
        need = float(state.workload.gpus[job])
        for level in places:
            free = [float(state.free_gpus[nodes].sum()) for nodes in level]
            # the tightest that has room
            for number in np.argsort(free, kind="stable"):
                if free[number] >= need and state.start(job, among=level[number]):
                    return True
        return state.start(job)

    return start


def _kind(state: ClusterState, job: int) -> Hashable:
    return state.kind(job)


def _reserved_start(reserved: Reservations, state: ClusterState) -> tuple[Start, Alike]:
    """Return how jobs start beside reservations, and which of them find the same room."""
    for end in np.unique(reserved.to_s[reserved.to_s < np.inf]):
        if end > state.now:
            state.wake(float(end))

    def start(state: ClusterState, job: int) -> bool:
        return state.start(job, among=reserved.open_to(job, state.now))

    def alike(state: ClusterState, job: int) -> Hashable:
        return state.kind(job), reserved.kind(job)

    return start, alike


def _in_turn(start: Start, alike: Alike, strict: bool) -> Pass:
    """Start jobs in the order of the queue; equal requests are tried once per pass."""

    def step(state: ClusterState, in_turn: list[int]) -> None:
        failed: set[Hashable] = set()
        for job in in_turn:
            if alike(state, job) in failed or not start(state, job):
                failed.add(alike(state, job))
                if strict:
                    break

    return step


class _Lending:
    """Queues of a cohort borrow from each other, and take back what is theirs."""

    def __init__(self, cohorts: Cohorts, gpus: Floats, start: Start, strict: bool) -> None:
        self._queues, self._gpus, self._start, self._strict = cohorts, gpus, start, strict

    def __call__(self, state: ClusterState, in_turn: list[int]) -> None:
        held_up: set[int] = set()
        failed: set[int] = set()
        for job in in_turn:
            queue = int(self._queues.of_job[job])
            if queue in held_up:
                continue
            kind = state.kind(job)
            allowed = self._allowed(state, job)
            if allowed and kind not in failed and self._start(state, job):
                continue
            if allowed:
                failed.add(kind)
            victims = self._victims(state, job)
            for victim in victims:
                state.stop(victim)
            if victims:
                failed.clear()
                self._start(state, job)
            elif self._strict:
                held_up.add(queue)

    def _used(self, state: ClusterState, without: list[int]) -> Floats:
        """Return the GPUs that each queue holds."""
        running = [job for job in state.running if job not in without]
        rows = self._queues.of_job[running]
        used = np.bincount(rows, self._gpus[running], len(self._queues.names))
        return used.astype(np.float64)

    def _allowed(self, state: ClusterState, job: int, without: list[int] | None = None) -> bool:
        """Tell whether quotas admit a job: its queue's with what it may borrow, its cohort's."""
        used = self._used(state, without or [])
        return self._queues.admits(used, int(self._queues.of_job[job]), float(self._gpus[job]))

    def _victims(self, state: ClusterState, job: int) -> list[int]:
        """Return jobs whose end makes room: those of borrowers first, then of the own queue."""
        queues, queue = self._queues, int(self._queues.of_job[job])
        used = self._used(state, [])
        within = used[queue] + self._gpus[job] <= queues.nominal[queue] + 1e-9
        lowest = sorted(
            state.running,
            key=lambda one: (
                queues.of_job[one] == queue, queues.priority[one], -state.running[one], -one
            ),
        )  # fmt: skip
        victims: list[int] = []
        for other in lowest:
            owner = int(queues.of_job[other])
            borrows = used[owner] > queues.nominal[owner] + 1e-9
            policy = queues.within[queue] if owner == queue else queues.reclaim[queue]
            lower = queues.priority[other] < queues.priority[job]
            if owner != queue and not (within and borrows):
                continue
            if queues.cohort[owner] != queues.cohort[queue] or policy == NEVER:
                continue
            if not lower and (policy == LOWER or owner == queue):
                continue
            victims.append(other)
            used[owner] -= self._gpus[other]
            if self._fits(state, job, victims):
                return self._needed(state, job, victims)
        return []

    def _fits(self, state: ClusterState, job: int, victims: list[int]) -> bool:
        return self._allowed(state, job, victims) and state.could_start(job, victims)

    def _needed(self, state: ClusterState, job: int, victims: list[int]) -> list[int]:
        """Keep those whose end is not needed after all, the one chosen last first."""
        for other in reversed(victims[:-1]):
            rest = [victim for victim in victims if victim != other]
            if self._fits(state, job, rest):
                victims = rest
        return victims


class _Resizing:
    """Everybody gets the fewest workers first; the others go where they speed up most."""

    def __init__(self, rule: Elastic, jobs: ElasticJobs, strict: bool) -> None:
        self._rule, self._jobs, self._strict = rule, jobs, strict
        self._changed: dict[int, float] = {}
        #: when a job that may not change yet may do so
        self._next_look = -np.inf

    def __call__(self, state: ClusterState, in_turn: list[int]) -> None:
        now = {job: state.workers(job) for job in state.running}
        wanted, starting = self._plan(state, dict(now), in_turn)
        for job, workers in now.items():
            if wanted[job] < workers:
                self._resize(state, job, wanted[job])
        for job in starting:
            self._start(state, job, wanted[job])
        for job, workers in now.items():
            if wanted[job] > workers:
                self._resize(state, job, wanted[job])

    def _plan(
        self, state: ClusterState, wanted: dict[int, int], in_turn: list[int]
    ) -> tuple[dict[int, int], list[int]]:
        """Return the workers of running and starting jobs, counted in free GPUs."""
        jobs, free = self._jobs, int(state.free_gpus.sum() + 1e-9)
        spare = sum(
            count - int(jobs.least[job]) for job, count in wanted.items() if jobs.elastic[job]
        )
        starting: list[int] = []
        for job in in_turn:
            elastic = bool(jobs.elastic[job])
            need = int(jobs.least[job]) if elastic else int(np.ceil(state.workload.gpus[job]))
            if need > free + spare:
                if self._strict:
                    break
                continue
            while need > free:
                self._take_one(wanted)
                free, spare = free + 1, spare - 1
            free -= need
            wanted[job] = int(jobs.least[job])
            starting.append(job)
        if free > 0:
            self._hand_out(state, wanted, free)
        return wanted, starting

    def _take_one(self, wanted: dict[int, int]) -> None:
        """Take a worker from the job that it speeds up least."""
        jobs = self._jobs
        rich = [
            job for job, count in wanted.items() if jobs.elastic[job] and count > jobs.least[job]
        ]
        poorest = min(rich, key=lambda job: (self._gain(job, wanted[job] - 1), -job))
        wanted[poorest] -= 1

    def _hand_out(self, state: ClusterState, wanted: dict[int, int], free: int) -> None:
        """Give free workers, one by one, to the job that each speeds up most."""
        jobs, later = self._jobs, np.inf
        growing: list[tuple[float, int]] = []
        for job, count in wanted.items():
            if not jobs.elastic[job] or count >= jobs.most[job]:
                continue
            due = self._changed.get(job, -np.inf) + self._rule.every_s
            if due <= state.now:
                growing.append((-self._gain(job, count), job))
            else:
                later = min(later, due)
        if later < self._next_look or self._next_look <= state.now:
            self._next_look = later
            if later < np.inf:
                state.wake(later)
        heapq.heapify(growing)
        while free > 0 and growing and growing[0][0] < 0:
            _, best = heapq.heappop(growing)
            wanted[best] += 1
            free -= 1
            if wanted[best] < jobs.most[best]:
                heapq.heappush(growing, (-self._gain(best, wanted[best]), best))

    def _gain(self, job: int, workers: int) -> float:
        """Return what one worker more than these adds to the speed of a job."""
        return self._jobs.rate(job, workers + 1) - self._jobs.rate(job, workers)

    def _start(self, state: ClusterState, job: int, workers: int) -> None:
        if not self._jobs.elastic[job]:
            state.start(job)
            return
        for count in range(workers, int(self._jobs.least[job]) - 1, -1):
            if state.start(job, workers=count):
                self._changed[job] = state.now
                return

    def _resize(self, state: ClusterState, job: int, workers: int) -> None:
        state.resize(job, workers, restart_s=self._rule.restart_s)
        self._changed[job] = state.now
