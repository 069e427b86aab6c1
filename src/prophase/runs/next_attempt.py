"""What past attempts at a task mean for the next, and its memory. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from prophase.json_types import JsonObject
from prophase.runs.end_cause import CURES, INTERRUPTIONS, cause_of

#: what was given and refused -> what to give next, or None if there is nothing more to try
Ladder = Callable[[float], float | None]

GROWTH = 2.0
_SLIGHTLY = 1.001


def ladder(
    *, recommended: Sequence[float] = (), bins: Sequence[float] = (), most: float | None = None
) -> Ladder:
    """Return the rule for lifting a request after an OOM.

    The next rung is the smallest recommended amount above the last one; without one, the next
    bin; without one, twice the last. Nothing exceeds ``most``.

    Parameters
    ----------
    recommended : sequence of float, optional
        Requests of the 1st, 2nd, 3rd try as a sizer recommends them, in GiB.
    bins : sequence of float, optional
        Sizes that are in use, in GiB.
    most : float, optional
        Memory of the largest node, in GiB.

    Examples
    --------
    >>> lift = ladder(recommended=[2.0, 3.0], bins=[4.0, 16.0], most=24.0)
    >>> lift(2.0), lift(3.0), lift(5.0), lift(16.0), lift(24.0)
    (3.0, 4.0, 16.0, 24.0, None)
    """

    def lift(last: float) -> float | None:
        above = [
            min((rung for rung in rungs if rung > last * _SLIGHTLY), default=None)
            for rungs in (recommended, bins)
        ]
        wanted = next((rung for rung in above if rung is not None), GROWTH * last)
        if most is not None:
            wanted = min(wanted, most)
        return wanted if wanted > last * _SLIGHTLY else None

    return lift


#: how often a task may be killed from outside before that is called a failure
_MOST_INTERRUPTIONS = 25


def limit_follows(command: Sequence[str]) -> bool:
    """Say whether a command derives limits of its own from the memory that it is given.

    Examples
    --------
    >>> limit_follows(["sh", "-c", "java -Xmx${PROPHASE_MEMORY_GIB}g -jar app.jar"])
    True
    >>> limit_follows(["java", "-Xmx2g", "-jar", "app.jar"])
    False
    """
    return any("memory_gib" in word.lower() for word in command)


@dataclass(frozen=True)
class Tried:
    """One attempt that was made."""

    #: ``exit_code``, ``cause``, ``because``, ``limit_gib``; None while it runs
    result: JsonObject | None
    #: how often the run had been reset when it began
    generation: int | None
    #: where its output is
    log: str = ""


@dataclass(frozen=True)
class NextAttempt:
    """What happens next with a task."""

    kind: Literal["new", "again", "running", "done", "failed"]
    memory_gib: float | None = None
    reason: str = ""


def verdict(
    task: JsonObject,
    tried: Sequence[Tried],
    *,
    allocation: JsonObject,
    generation: int,
    node_memory_gib: float | None,
    bins_gib: Sequence[float],
) -> NextAttempt:
    """Decide from what is on record.

    Parameters
    ----------
    task : mapping
        ``memory_gib``, ``advised_gib`` and ``attempts``, as the pipeline has them, and ``command``.
    tried : sequence of Tried
        All attempts, first to last.
    allocation : mapping
        What is set for the task while the campaign runs; perhaps with ``advised_gib``, what
        a sizer recommends for its tries.
    generation : int
        How often the run has been reset: attempts from before do not count against it.
    """
    recommended = allocation.get("advised_gib") or task["advised_gib"]
    most_gib = allocation.get("most_memory_gib", node_memory_gib)
    first = recommended[0] if recommended else task["memory_gib"]
    base = allocation.get("memory_gib", first if most_gib is None else min(first, most_gib))
    if not tried:
        return NextAttempt("new", base)
    ended = tried[-1].result
    if ended is None:
        return NextAttempt("running")
    if ended["exit_code"] == 0:
        return NextAttempt("done")
    recent = [one.result for one in tried if one.result and one.generation == generation]
    limit = ended["limit_gib"] or base
    cause = cause_of(ended)
    lifting = (
        ("host_memory", "own_limit") if limit_follows(task.get("command", ())) else ("host_memory",)
    )
    if cause in lifting:
        lift = ladder(
            recommended=recommended,
            bins=bins_gib,
            most=most_gib,
        )
        ooms = sum(cause_of(result) in lifting for result in recent)
        most = int(allocation.get("attempts") or task["attempts"])
        return _after_oom(base, limit, lift(limit), ooms, most)
    if not recent:
        return NextAttempt("again", base if "memory_gib" in allocation else max(base, limit))
    killed = sum(cause_of(result) in INTERRUPTIONS for result in recent)
    if cause in INTERRUPTIONS and killed <= _MOST_INTERRUPTIONS:
        return NextAttempt("again", max(limit, base))
    said = ended["because"] or f"exit {ended['exit_code']}"
    if cause in CURES:
        said = f"{said}. {CURES[cause].removesuffix('.')}"
    return NextAttempt("failed", reason=f"{said}; its output is in {tried[-1].log}")


def _after_oom(
    base: float, limit: float, lifted: float | None, ooms: int, most: int
) -> NextAttempt:
    if ooms >= most:
        said = f"out of memory at {limit:.3g} GiB in the last of {ooms} attempts"
        return NextAttempt("failed", reason=said)
    if base > limit:
        return NextAttempt("again", base)
    if lifted is not None:
        return NextAttempt("again", lifted)
    if not ooms:
        return NextAttempt("again", limit)
    said = f"out of memory at {limit:.3g} GiB, and no more is allowed (node_memory)"
    return NextAttempt("failed", reason=said)
