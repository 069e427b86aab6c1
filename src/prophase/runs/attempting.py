"""What the attempts at a task so far mean for the next one. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from prophase.runs.ladder import ladder

#: how often a task may be killed from outside before that is called a failure
_MOST_INTERRUPTIONS = 25
#: exit codes of what was killed
KILLED = (137, 143)


@dataclass(frozen=True)
class Tried:
    """One attempt that was made."""

    #: ``exit_code``, ``oom``, ``because``, ``limit_gib``; None while it runs
    result: Mapping[str, Any] | None
    #: how often the run had been reset when it began
    generation: int | None
    #: where its output is
    log: str = ""


@dataclass(frozen=True)
class Verdict:
    """What happens next with a task."""

    kind: Literal["new", "again", "running", "done", "failed"]
    memory_gib: float | None = None
    reason: str = ""


def verdict(
    task: Mapping[str, Any],
    tried: Sequence[Tried],
    *,
    allocation: Mapping[str, Any],
    generation: int,
    node_memory_gib: float | None,
    bins_gib: Sequence[float],
) -> Verdict:
    """Decide from what is on record.

    Parameters
    ----------
    task : mapping
        ``memory_gib``, ``advised_gib`` and ``attempts``, as the pipeline has them.
    tried : sequence of Tried
        All attempts, first to last.
    allocation : mapping
        What is set for the task while the campaign runs; perhaps with ``advised_gib``, what
        a sizer advises for its tries.
    generation : int
        How often the run has been reset: attempts from before do not count against it.
    """
    advised = allocation.get("advised_gib") or task["advised_gib"]
    most_gib = allocation.get("most_memory_gib", node_memory_gib)
    first = advised[0] if advised else task["memory_gib"]
    base = allocation.get("memory_gib", first if most_gib is None else min(first, most_gib))
    if not tried:
        return Verdict("new", base)
    ended = tried[-1].result
    if ended is None:
        return Verdict("running")
    if ended["exit_code"] == 0:
        return Verdict("done")
    recent = [one.result for one in tried if one.result and one.generation == generation]
    limit = ended["limit_gib"] or base
    if ended["oom"]:
        lift = ladder(
            advised=advised,
            bins=bins_gib,
            most=most_gib,
        )
        ooms = sum(bool(result["oom"]) for result in recent)
        most = int(allocation.get("attempts", task["attempts"]))
        return _after_oom(base, limit, lift(limit), ooms, most)
    if not recent:
        return Verdict("again", base if "memory_gib" in allocation else max(base, limit))
    killed = sum(result["exit_code"] in KILLED for result in recent)
    if ended["exit_code"] in KILLED and killed <= _MOST_INTERRUPTIONS:
        return Verdict("again", max(limit, base))
    said = ended["because"] or f"exit {ended['exit_code']}"
    return Verdict("failed", reason=f"{said}; its output is in {tried[-1].log}")


def _after_oom(base: float, limit: float, lifted: float | None, ooms: int, most: int) -> Verdict:
    if ooms >= most:
        said = f"out of memory at {limit:.3g} GiB in the last of {ooms} attempts"
        return Verdict("failed", reason=said)
    if base > limit:
        return Verdict("again", base)
    if lifted is not None:
        return Verdict("again", lifted)
    if not ooms:
        return Verdict("again", limit)
    said = f"out of memory at {limit:.3g} GiB, and no more is allowed (node_memory)"
    return Verdict("failed", reason=said)
