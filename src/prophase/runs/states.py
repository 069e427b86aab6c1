"""The life of a profiling run, as data: thirteen states, six branches, one table of moves.

A run is registered, then deployed, executed and profiled. Each step is first triggered, then
checked until it has ended. A failure stops the run until somebody resets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from prophase.errors import ParameterError, RefusedError

Step = Literal["deploy", "execute", "profile"]
STEPS: tuple[Step, ...] = ("deploy", "execute", "profile")


class RunState(IntEnum):
    """Where a run is: the tens say the step, the last digit how far it got."""

    REGISTERED = 0
    DEPLOY_TRIGGER_FAILED = 10
    DEPLOYING = 11
    DEPLOY_FAILED = 15
    DEPLOYED = 17
    EXECUTE_TRIGGER_FAILED = 30
    EXECUTING = 31
    EXECUTE_FAILED = 35
    EXECUTED = 37
    PROFILE_TRIGGER_FAILED = 50
    PROFILING = 51
    PROFILE_FAILED = 55
    FINISHED = 57

    @property
    def label(self) -> str:
        """Return the state in words, as tables show it.

        Examples
        --------
        >>> RunState(35).label
        'execute failed'
        """
        return self.name.lower().replace("_", " ")

    @property
    def failed(self) -> bool:
        """Say whether the run waits for somebody to reset it."""
        return self % 10 in (0, 5) and self is not RunState.REGISTERED


@dataclass(frozen=True)
class Branch:
    """One of the six activities: it takes runs in one state and moves them on."""

    name: str
    step: Step
    kind: Literal["trigger", "check"]
    takes: RunState
    #: runs in this state count against the parallelism of the step
    busy: RunState


S = RunState
BRANCHES: dict[str, Branch] = {
    branch.name: branch
    for branch in (
        Branch("deploy", "deploy", "trigger", S.REGISTERED, S.DEPLOYING),
        Branch("check_deploy", "deploy", "check", S.DEPLOYING, S.DEPLOYING),
        Branch("execute", "execute", "trigger", S.DEPLOYED, S.EXECUTING),
        Branch("check_execute", "execute", "check", S.EXECUTING, S.EXECUTING),
        Branch("profile", "profile", "trigger", S.EXECUTED, S.PROFILING),
        Branch("check_profile", "profile", "check", S.PROFILING, S.PROFILING),
    )
}

#: (state, event) -> next state; every other pair is refused
NEXT_STATE: dict[tuple[RunState, str], RunState] = {
    (S.REGISTERED, "triggered"): S.DEPLOYING,
    (S.REGISTERED, "trigger failed"): S.DEPLOY_TRIGGER_FAILED,
    (S.DEPLOYING, "succeeded"): S.DEPLOYED,
    (S.DEPLOYING, "failed"): S.DEPLOY_FAILED,
    (S.DEPLOYED, "triggered"): S.EXECUTING,
    (S.DEPLOYED, "trigger failed"): S.EXECUTE_TRIGGER_FAILED,
    (S.EXECUTING, "succeeded"): S.EXECUTED,
    (S.EXECUTING, "failed"): S.EXECUTE_FAILED,
    (S.EXECUTED, "triggered"): S.PROFILING,
    (S.EXECUTED, "trigger failed"): S.PROFILE_TRIGGER_FAILED,
    (S.PROFILING, "succeeded"): S.FINISHED,
    (S.PROFILING, "failed"): S.PROFILE_FAILED,
}
#: a run may be set back to where a step begins, if it has come further than that
RESET_STATES = (S.REGISTERED, S.DEPLOYED, S.EXECUTED)


def reset_event(goal: RunState) -> str:
    """Return what a reset to a state is called in the history."""
    return f"reset to {int(goal)}"


NEXT_STATE |= {
    (state, reset_event(goal)): goal for state in RunState for goal in RESET_STATES if goal < state
}


def next_state(state: RunState, event: str) -> RunState:
    """Return the state after an event, or refuse with what the state accepts.

    Examples
    --------
    >>> next_state(RunState.EXECUTING, "succeeded").label
    'executed'
    >>> next_state(RunState.FINISHED, "triggered")
    Traceback (most recent call last):
    ...
    prophase.errors.RefusedError: A finished run (57) cannot take 'triggered'; it accepts
    ['reset to 0', 'reset to 17', 'reset to 37'].
    """
    moved = NEXT_STATE.get((state, event))
    if moved is None:
        accepted = [known for start, known in NEXT_STATE if start is state]
        raise RefusedError(
            f"A {state.label} run ({int(state)}) cannot take {event!r}; it accepts {accepted}."
        )
    return moved


def reset_state(text: str) -> RunState:
    """Read the state a run is to be reset to, by number or by name.

    Examples
    --------
    >>> reset_state("17"), reset_state("registered")
    (<RunState.DEPLOYED: 17>, <RunState.REGISTERED: 0>)
    """
    for state in RESET_STATES:
        if text.strip().lower() in (str(int(state)), state.label):
            return state
    known = ", ".join(f"{int(state)} ({state.label})" for state in RESET_STATES)
    raise ParameterError(f"A run cannot be reset to {text!r}. It can go back to: {known}.")
