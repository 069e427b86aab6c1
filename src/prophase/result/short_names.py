"""Names cut so that they fit beside an axis or into a table, and stay apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

#: ends of the parts of a name
_PARTS = re.compile(r"[\s:/._=-]")


def short(text: str, most: int = 24) -> str:
    """Cut a long name in the middle, since its ends tell most.

    Examples
    --------
    >>> short("NFCORE_RNASEQ:RNASEQ:STAR_ALIGN", 20)
    'NFCORE…EQ:STAR_ALIGN'
    """
    if len(text) <= most:
        return text
    head = (most - 1) // 3 if not text.startswith("…") else 0
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def short_names(names: Sequence[str], most: int = 24) -> list[str]:
    """Cut long names where they are alike, so that different ones stay different.

    Examples
    --------
    >>> short_names(["NFCORE_RNASEQ:RNASEQ:ALIGN", "NFCORE_RNASEQ:RNASEQ:SORT", "sum"], 14)
    ['…RNASEQ:ALIGN', '…RNASEQ:SORT', 'sum']
    """
    different = sorted(set(names))
    long = [name for name in different if len(name) > most]
    ends = _alike(long) if len(long) > 1 else [0]
    # no more than needed, if that is enough
    enough = max(map(len, long), default=0) + 1 - most
    alike = long[0][: next((end for end in ends if end >= enough), ends[-1])] if long else ""
    shown = {
        name: short(f"…{name[len(alike) :]}" if alike and name.startswith(alike) else name, most)
        for name in different
    }
    for group in _same(shown):
        # where they begin to differ, and the end
        begin = _alike(group)[-1]
        shown |= {name: f"…{short(name[begin:], most - 1)}" for name in group}
    for group in _same(shown):
        shown |= {name: f"{shown[name]} {place}" for place, name in enumerate(group, 1)}
    return [shown[name] for name in names]


def _same(shown: Mapping[str, str]) -> list[list[str]]:
    """Return the names that are shown alike, by what they are shown as."""
    groups: dict[str, list[str]] = {}
    for name, text in shown.items():
        groups.setdefault(text, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _alike(ordered: Sequence[str]) -> list[int]:
    """Return where the parts end that sorted names share at their beginning; 0 first."""
    first, last = ordered[0], ordered[-1]
    pairs = enumerate(zip(first, last, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(first), len(last)))
    return [0, *(match.end() for match in _PARTS.finditer(first[:same]))]
