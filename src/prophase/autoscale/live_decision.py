"""What is done to one pod now: resize it, wait, or leave it alone, and why. Nothing is sent here.

A decision has a name made of the run and its number, so that whoever comes to it again, after a
crash or beside another, sees that it was taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from prophase import units
from prophase.autoscale.fleet import Floats
from prophase.autoscale.saved_policy import SavedPolicy
from prophase.errors import ParameterError
from prophase.json_types import JsonObject

Outcome = Literal["resize", "keep", "wait", "refused"]
_HOUR_S = 3600.0


@dataclass(frozen=True)
class LiveRules:
    """What the controller may do."""

    #: in the metric's unit
    least: float = 0.0
    most: float = math.inf
    #: changes of all pods together
    changes_per_hour: float = 60.0
    #: samples that may be missing before the past is not trusted
    stale_steps: float = 3.0
    #: a resize that waits for room for longer is taken back
    deferred_s: float = 600.0
    #: pause after a resize that no node can give; doubles each time
    back_off_s: float = 600.0

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise ParameterError("the least allocation is 0 or more and at most the largest one.")
        if self.changes_per_hour < 0:
            raise ParameterError("changes per hour are a number of 0 or more.")


@dataclass(frozen=True)
class PodMemory:
    """What was done to a pod before; kept with the pod, so that it outlives the controller."""

    #: name of the last decision that was acted upon, and from what to what
    decision: str = ""
    before: float = math.nan
    after: float = math.nan
    #: times of the changes in the last hour
    changes_s: tuple[float, ...] = ()
    #: kills that were answered: the container's restarts then
    restarts: int = 0
    kills: int = 0
    #: the least allocation after a kill, and until when
    floor: float = 0.0
    floor_until_s: float = 0.0
    #: nothing is tried before this time, after so many failures
    paused_until_s: float = 0.0
    failures: int = 0

    def document(self) -> JsonObject:
        """Return it as JSON, without what was never set."""
        fresh = PodMemory()
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if value != getattr(fresh, name) and value == value
        }

    @classmethod
    def of(cls, held: Mapping[str, object]) -> PodMemory:
        """Return what a pod keeps; what is not understood counts as never set."""
        taken: JsonObject = {}
        for name, usual in vars(cls()).items():
            value = held.get(name, usual)
            if isinstance(usual, tuple):
                listed = value if isinstance(value, list | tuple) else usual
                taken[name] = tuple(one for one in listed if isinstance(one, int | float))
            elif isinstance(usual, str):
                taken[name] = str(value)
            else:
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                taken[name] = type(usual)(value) if is_number else usual
        return cls(**taken)


@dataclass(frozen=True)
class PodNow:
    """A pod as the cluster has it."""

    name: str
    #: in the metric's unit: what its spec says, and what its node has given it
    allocated: float
    granted: float
    restarts: int = 0
    #: the use that killed it: its limit then
    killed_at: float | None = None
    #: "", "Deferred", "Infeasible", and since when
    pending: str = ""
    pending_since_s: float = 0.0
    #: why it cannot be resized at all
    fixed: str = ""
    memory: PodMemory = field(default_factory=PodMemory)


@dataclass(frozen=True)
class Samples:
    """The current run of a pod: no hole, from its first sample."""

    start_s: float
    use: Sequence[float] | Floats = ()
    others: Mapping[str, Sequence[float] | Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class LiveDecision:
    """What happens to a pod, and what is remembered of it."""

    outcome: Outcome
    #: the decision's name; the same one is never acted upon twice
    name: str
    #: in the metric's unit, as the back-test has it
    allocation: float
    reason: str
    memory: PodMemory
    #: whether the learnt policy was asked, and not VPA's rule
    learnt: bool = True

    def applied(self, metric: str) -> float:
        """Return the allocation as it is given: whole MiB, or hundredths of a core, rounded up."""
        return rounded(self.allocation, metric)


def rounded(allocation: float, metric: str) -> float:
    """Return an allocation in the steps that are given, rounded up.

    Examples
    --------
    >>> rounded(1.0001, "memory_gib") * 1024, rounded(0.123, "cpu_cores")
    (1025.0, 0.13)
    """
    if math.isnan(allocation):
        return allocation
    if metric.endswith("_gib"):
        return units.whole_mib(allocation) / 1024
    return math.ceil(100 * allocation - 1e-6) / 100


def decide(
    policy: SavedPolicy,
    pod: PodNow,
    samples: Samples,
    rules: LiveRules,
    now_s: float,
    *,
    changes_left: float = math.inf,
    trusted: bool = True,
) -> LiveDecision:
    """Return what to do to a pod now.

    Parameters
    ----------
    changes_left : float, optional
        Changes that the budget of all pods still allows.
    trusted : bool, default=True
        Whether the learnt policy may be asked; else VPA's rule is.
    """
    memory = pod.memory
    answered = _killed(policy, pod, now_s)
    count = len(samples.use)
    name = f"{samples.start_s:.0f}-{count // policy.every}"
    if answered is not None:
        memory, name = answered, f"kill-{pod.restarts}"
    if pod.fixed:
        return LiveDecision("refused", name, pod.allocated, pod.fixed, memory)
    stopped = _pending(pod, rules, now_s)
    if stopped is not None:
        return stopped
    newest_s = samples.start_s + (count - 1) * policy.step_s
    if count and newest_s > now_s + policy.step_s:
        skew = newest_s - now_s
        why = f"the newest sample is {skew:.0f} s in the future: check the clocks"
        return LiveDecision("refused", name, pod.allocated, why, memory)
    stale = not count or now_s - newest_s > rules.stale_steps * policy.step_s
    wanted, why, learnt = _wanted(policy, pod, samples, stale=stale, trusted=trusted)
    if now_s < memory.floor_until_s and wanted < memory.floor:
        wanted, why = memory.floor, f"{why}; at least {memory.floor:.4g} after a kill"
    bounded = min(max(wanted, rules.least), rules.most)
    if bounded != wanted:
        why += f"; kept within {rules.least:g} and {rules.most:g}"
    decided = LiveDecision("resize", name, bounded, why, memory, learnt)
    return _checked(decided, pod, now_s, changes_left, rounded(bounded, policy.metric))


def _wanted(
    policy: SavedPolicy, pod: PodNow, samples: Samples, *, stale: bool, trusted: bool
) -> tuple[float, str, bool]:
    if not len(samples.use):
        return pod.allocated, "no samples yet", False
    if stale:
        # what a silent pod needs is not known: it never gets less
        told = policy.allocation(samples.use, samples.others, fallback=True)
        return max(pod.allocated, told), "samples have stopped: not below VPA's rule", False
    if not trusted:
        told = policy.allocation(samples.use, samples.others, fallback=True)
        return told, "kills have risen: VPA's rule", False
    if not policy.is_known(samples.use):
        told = policy.allocation(samples.use, samples.others, fallback=True)
        return told, "more use than was ever learnt from: VPA's rule", False
    number = len(samples.use) // policy.every
    told = policy.allocation(samples.use, samples.others)
    return told, f"{policy.name}, decision {number}", True


def _killed(policy: SavedPolicy, pod: PodNow, now_s: float) -> PodMemory | None:
    """Return what is remembered after a kill that was not answered yet."""
    if pod.killed_at is None or pod.restarts <= pod.memory.restarts:
        return None
    held = pod.memory.floor if now_s < pod.memory.floor_until_s else 0.0
    floor = max(policy.kills.least_after(pod.killed_at, policy.metric), held)
    return replace(
        pod.memory,
        restarts=pod.restarts,
        kills=pod.memory.kills + 1,
        floor=floor,
        floor_until_s=now_s + policy.kills.hold_s,
    )


def _pending(pod: PodNow, rules: LiveRules, now_s: float) -> LiveDecision | None:
    """Return what to do while a resize has not been granted."""
    memory = pod.memory
    if not pod.pending:
        return None
    waited_s = now_s - pod.pending_since_s
    if pod.pending == "Deferred" and waited_s <= rules.deferred_s:
        why = f"the node has no room yet ({waited_s:.0f} s)"
        return LiveDecision("wait", memory.decision, pod.allocated, why, memory)
    failures = memory.failures + 1
    pause_s = rules.back_off_s * 2 ** (failures - 1)
    why = (
        f"the node cannot give {pod.allocated:.4g} ({pod.pending}): back to {pod.granted:.4g}, "
        f"nothing is tried for {pause_s:.0f} s"
    )
    back = replace(
        memory,
        decision=f"back-{memory.decision}",
        before=pod.allocated,
        after=pod.granted,
        failures=failures,
        paused_until_s=now_s + pause_s,
    )
    return LiveDecision("resize", back.decision, pod.granted, why, back)


def _checked(
    decided: LiveDecision, pod: PodNow, now_s: float, changes_left: float, applied: float
) -> LiveDecision:
    """Return the decision, unless it was taken already or must wait."""
    memory = decided.memory
    if decided.name == memory.decision:
        # a crash between the note and the resize: finish it, unless somebody moved the pod since
        half = memory.after != pod.allocated and memory.before == pod.allocated
        outcome: Outcome = "resize" if half else "keep"
        why = "finish what was begun" if half else "decided before"
        wanted = memory.after if half else pod.allocated
        return replace(decided, outcome=outcome, allocation=wanted, reason=why)
    if applied == pod.allocated:
        return replace(decided, outcome="keep")
    if now_s < memory.paused_until_s and not decided.name.startswith("kill-"):
        left_s = memory.paused_until_s - now_s
        return replace(decided, outcome="wait", reason=f"paused for {left_s:.0f} s after a failure")
    if changes_left < 1 and applied < pod.allocated:
        # what a pod needs is never held back by the budget, only what it could give back
        return replace(decided, outcome="wait", reason="the budget of changes is used up")
    recent = tuple(one for one in memory.changes_s if one > now_s - _HOUR_S)
    noted = replace(
        memory,
        decision=decided.name,
        before=pod.allocated,
        after=applied,
        changes_s=(*recent, now_s),
        failures=memory.failures if now_s < memory.paused_until_s + _HOUR_S else 0,
    )
    return replace(decided, memory=noted)
