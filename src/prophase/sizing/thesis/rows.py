"""Rows of the comparison: a printed number, ours, and a verdict in one word.

reproduced: comes out of the thesis' own inputs. in kind: comes out on data of the same shape.
differs in kind: it does not there. contradicted: another of its tables says otherwise. ours:
the thesis has no such number. DIFFERS: the inputs give another number than was printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prophase.sizing.thesis.consistency import Contradiction
from prophase.sizing.thesis.scores import Score

Row = dict[str, Any]
#: a test has few heavy runs: so many under-estimates more are within chance
_MORE_UNDER = 2


def exact(
    item: str,
    claim: str,
    theirs: float,
    ours: float,
    *,
    digits: int = 1,
    tolerance: float | None = None,
) -> Row:
    """Return a row of what arithmetic gives: equal to the printed digits, or different.

    Examples
    --------
    >>> exact("Table 11", "estimate", 85.7, 85.6975)["verdict"]
    'reproduced'
    >>> exact("Table 11", "estimate", 85.7, 86.2)["verdict"]
    'DIFFERS'
    """
    # half a digit, and a hair for binary fractions
    allowed = 0.5 * 10.0**-digits + 1e-9 if tolerance is None else tolerance
    verdict = "reproduced" if abs(theirs - ours) <= allowed else "DIFFERS"
    return _row(item, claim, f"{theirs:g}", f"{ours:.{digits}f}", verdict)


def compared(
    item: str,
    claim: str,
    theirs: Sequence[float],
    ours: Sequence[float],
    *,
    tolerance: float,
    digits: int = 1,
    more_is_better: bool = False,
) -> Row:
    """Return a row of numbers on other data: the same in kind, or not."""
    near = all(
        abs(one - other) <= tolerance or (more_is_better and other >= one)
        for one, other in zip(theirs, ours, strict=True)
    )
    return _row(
        item,
        claim,
        ", ".join(f"{value:,g}" for value in theirs),
        ", ".join(f"{value:,.{digits}f}" for value in ours),
        "in kind" if near else "differs in kind",
    )


def scored(
    item: str,
    claim: str,
    accuracies: Sequence[float],
    our_accuracies: Sequence[float],
    u_scores: Sequence[float],
    ours: Sequence[Score],
) -> Row:
    """Return a row of scores; two under-estimates more than theirs are within chance."""
    near = all(
        found.u_score <= theirs + 100 * _MORE_UNDER * found.penalty / found.total
        for theirs, found in zip(u_scores, ours, strict=True)
    )
    return _row(
        item,
        claim,
        ", ".join(f"{value:g}" for value in (*accuracies, *u_scores)),
        ", ".join(f"{value:.1f}" for value in (*our_accuracies, *(s.u_score for s in ours))),
        "in kind" if near else "differs in kind",
    )


def said(item: str, claim: str, theirs: str, ours: str, holds: bool) -> Row:
    """Return a row of a sentence about a picture: so on other data, or not."""
    return _row(item, claim, theirs, ours, "in kind" if holds else "differs in kind")


def ours_alone(item: str, claim: str, ours: str, *, published: str = "-") -> Row:
    """Return a row of what the thesis has no number for."""
    return _row(item, claim, published, ours, "ours")


def contradicted(found: Contradiction) -> Row:
    """Return a row of two printed numbers that cannot both be right."""
    row = _row(found.where, found.what, f"{found.first}; {found.second}", "-", "contradicted")
    return {**row, "reason": found.reason}


def _row(item: str, claim: str, published: str, ours: str, verdict: str) -> Row:
    return {
        "item": item,
        "claim": claim,
        "published": published,
        "ours": ours,
        "verdict": verdict,
        "reason": "",
    }
