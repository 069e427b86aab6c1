from __future__ import annotations

import pytest

from prophase.errors import ParameterError, RefusedError
from prophase.runs.states import BRANCHES, NEXT_STATE, RunState, next_state, reset_state

EVENTS = {event for _, event in NEXT_STATE}


def test_the_states_are_those_of_the_thesis():
    numbers = [0, 10, 11, 15, 17, 30, 31, 35, 37, 50, 51, 55, 57]
    assert [int(state) for state in RunState] == numbers


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize("event", sorted(EVENTS))
def test_every_pair_moves_as_the_table_says_or_is_refused_with_what_is_accepted(state, event):
    if (state, event) in NEXT_STATE:
        assert next_state(state, event) is NEXT_STATE[state, event]
    else:
        with pytest.raises(RefusedError, match=rf"\({int(state)}\) cannot take .* it accepts"):
            next_state(state, event)


def test_without_resets_a_run_only_ever_goes_forward():
    forward = {k: v for k, v in NEXT_STATE.items() if not k[1].startswith("reset")}
    assert all(after > before for (before, _), after in forward.items())
    assert all(before.failed is False for before, _ in forward)


def test_failed_and_running_runs_can_be_reset_but_never_ahead():
    assert NEXT_STATE[RunState.EXECUTE_FAILED, "reset to 17"] is RunState.DEPLOYED
    assert (RunState.DEPLOYED, "reset to 37") not in NEXT_STATE
    assert (RunState.REGISTERED, "reset to 0") not in NEXT_STATE


def test_two_branches_per_step_take_what_the_other_leaves():
    assert len(BRANCHES) == 6
    for branch in BRANCHES.values():
        event = "triggered" if branch.kind == "trigger" else "succeeded"
        assert (branch.takes, event) in NEXT_STATE
        if branch.kind == "trigger":
            assert NEXT_STATE[branch.takes, event] is BRANCHES[f"check_{branch.name}"].takes


def test_a_reset_to_a_state_that_is_no_beginning_says_which_are():
    with pytest.raises(ParameterError, match=r"0 \(registered\), 17 \(deployed\), 37 \(executed\)"):
        reset_state("31")
