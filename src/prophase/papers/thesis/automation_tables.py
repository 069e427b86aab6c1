"""Tables 1 and 2 and figures 8, 9 and 17 of the thesis, beside the tables this package runs on."""

from __future__ import annotations

from dataclasses import fields

from prophase.json_types import JsonObject
from prophase.papers.claims import claim_row
from prophase.runs.next_attempt import ladder
from prophase.runs.states import BRANCHES, NEXT_STATE, RunState
from prophase.runs.store.records import Run

#: Table 1; its scenario stands for several fields, which are our attributes
FIELDS = ("id", "scenario", "execution_date", "state", "dag_id", "run_id", "profiling_id", "notes")
#: Table 2
STATES = (0, 10, 11, 15, 17, 30, 31, 35, 37, 50, 51, 55, 57)
#: figure 8: what begins a step, what it may become at once, and what it may become later
_STEPS = ((0, (10, 11), (15, 17)), (17, (30, 31), (35, 37)), (37, (50, 51), (55, 57)))
_LIFTED = (10.0, 60.0, 350.0)


def automation_rows() -> list[dict[str, object]]:
    """Return a row per table and figure of the thesis' automation, with a verdict.

    Examples
    --------
    >>> {row["verdict"] for row in automation_rows()}
    {'reproduced'}
    """
    own = {field.name for field in fields(Run)}
    kept = [name for name in FIELDS if name in own]
    moves = {(int(state), int(goal)) for (state, event), goal in NEXT_STATE.items()
             if not event.startswith("reset")}  # fmt: skip
    drawn = {
        (begin, goal) for begin, (failed, busy), _ in _STEPS for goal in (failed, busy)
    } | {(busy, goal) for _, (_, busy), ended in _STEPS for goal in ended}  # fmt: skip
    kinds = [branch.kind for branch in BRANCHES.values()]
    lift = ladder(bins=_LIFTED)
    climbed = [_LIFTED[0]]
    while (rung := lift(climbed[-1])) is not None and len(climbed) < len(_LIFTED):
        climbed.append(rung)
    return [
        _row("Table 1", "fields of the run profiling table", str(len(FIELDS)),
             f"{len(kept)} of {len(FIELDS)} by the same name", len(kept) == len(FIELDS)),
        _row("Table 2", "states of a run", ", ".join(map(str, STATES)),
             ", ".join(str(int(state)) for state in RunState),
             tuple(int(state) for state in RunState) == STATES),
        _row("Figure 8", "moves from state to state, without resets", str(len(drawn)),
             f"{len(moves & drawn)} of {len(drawn)}, {len(moves - drawn)} more", moves == drawn),
        _row("Figure 9", "branches of the scheduler: triggering, checking", "3, 3",
             f"{kinds.count('trigger')}, {kinds.count('check')}",
             kinds.count("trigger") == kinds.count("check") == 3),
        _row("Figure 17", "an OOM lifts the allocation to the next bin (GB)",
             "; ".join(f"{value:g}" for value in _LIFTED),
             "; ".join(f"{value:g}" for value in climbed), tuple(climbed) == _LIFTED),
    ]  # fmt: skip


def _row(item: str, claim: str, published: str, ours: str, same: bool) -> JsonObject:
    return claim_row(item, claim, published, ours, "reproduced" if same else "DIFFERS")
