"""One claim of the paper beside what we find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["reproduced", "contradicted", "needs data", "in kind", "differs in kind"]

#: how to get the authors' rows and grid, and the whole trace
FETCH_ROWS = "prophase fetch polaris --out polaris"
FETCH_TRACE = "prophase fetch pai2020 --out pai2020"


@dataclass(frozen=True)
class Item:
    """A table, figure or sentence of the paper, and whether it holds on the data at hand."""

    #: where in the paper
    item: str
    claim: str
    published: str
    ours: str
    verdict: Verdict
    #: why, or the command that gets the data
    reason: str
    #: what our number was taken from
    data: str

    @classmethod
    def waiting(
        cls, item: str, claim: str, published: str, command: str, *, ours: str = "", data: str = ""
    ) -> Item:
        """Return an item that the data at hand cannot decide."""
        return cls(item, claim, published, ours, "needs data", f"get it with: {command}", data)


def judged(holds: bool, *, real: bool = True) -> Verdict:
    """Return the verdict on a claim that the data can decide.

    What other rows show, or synthetic ones, does not decide on a number printed for 100,001.
    """
    if real:
        return "reproduced" if holds else "contradicted"
    return "in kind" if holds else "differs in kind"
