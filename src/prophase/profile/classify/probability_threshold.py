"""From which probability on an answer is worth giving; below it a job's profile is unknown.

What a probability is worth differs between traces: the same 0.6 is right nine times out of
ten where users repeat themselves and half of the time where they do not. So the line is
drawn on the training jobs, at three moments of their time: the jobs after it are answered
by a model of what had ended before. The line of a moment is the least probability from which
on its answers were right nine times out of ten, and the highest of the three is taken: a trace
that changed once will change again. Where time does not allow three, a random fifth is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from prophase.array_types import Bools, Floats, Ints
from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.profile.classify.metadata_words import Words
from prophase.profile.classify.methods.method import Method
from prophase.trace.split import Split, split_by_row, split_by_time

#: share of the answers that are to be right
WANTED = 0.9
#: more likely than all other profiles together: where nothing better can be learned
FALLBACK = 0.5
#: shares of the jobs that come after the moments
_LATER = (0.6, 0.4, 0.2)
#: with fewer answers above a line, their accuracy is luck
_FEWEST = 20


@dataclass(frozen=True)
class Threshold:
    """The line, how it was drawn, and what it does to jobs held out for it."""

    value: float
    why: str
    #: share of the held-out jobs above the line, and share of these that were right
    kept: float | None = None
    right: float | None = None

    def to_dict(self) -> JsonObject:
        return asdict(self)

    def sentence(self) -> str:
        """Return the line and its reason."""
        text = f"Unknown below probability {self.value:.2f}: {self.why}"
        if self.kept is None or self.right is None:
            return text + "."
        return f"{text}; above it are {self.kept:.0%} of them, and {self.right:.0%} are right."


def learn_threshold(
    jobs: pd.DataFrame,
    words: Words,
    codes: Ints,
    classes: int,
    make: Callable[[], Method],
    random_state: int = 0,
) -> Threshold:
    """Draw the line on blocks of later jobs, each predicted by a model of the earlier ones."""
    if classes < 2:
        return Threshold(0.0, "there is one profile only")
    if len(words) < 5 * _FEWEST:
        return Threshold(FALLBACK, "too few jobs to learn a line from")
    splits = [(split, "later") for split in _moments(jobs)]
    if len(splits) < len(_LATER):
        # without a clock, or with jobs too long for it, others have to do
        splits.append((split_by_row(jobs, _LATER[-1], random_state=random_state), "other"))
    lines = []
    for split, when in splits:
        early, late = split.train, split.test
        method = make().learn(words.rows(early), codes[early], classes)
        found = method.probabilities(words.rows(late))
        held_out = f"on {len(late):,} {when} jobs held out for it"
        lines.append(_line(found.max(axis=1), found.argmax(axis=1) == codes[late], held_out))
    highest = max(lines, key=lambda line: line.value)
    more = f", the highest line of {len(lines)} such groups" if len(lines) > 1 else ""
    return replace(highest, why=highest.why + more)


def _moments(jobs: pd.DataFrame) -> list[Split]:
    """Return the splits by time that leave enough jobs on both sides."""
    found = []
    for share in _LATER:
        try:
            split = split_by_time(jobs, test_share=share)
        except ProphaseError:
            continue
        if min(len(split.train), len(split.test)) >= _FEWEST:
            found.append(split)
    return found


def _line(probability: Floats, right: Bools, held_out: str) -> Threshold:
    order = np.argsort(-probability, kind="stable")
    levels, hits = probability[order], np.cumsum(right[order])
    kept = np.arange(1, len(order) + 1)
    # a line lies between two levels, never inside a group of equal ones
    ends = np.append(levels[1:] < levels[:-1], True)
    good = ends & (hits / kept >= WANTED) & (kept >= _FEWEST)
    if not good.any():
        above = probability >= FALLBACK
        share = float(right[above].mean()) if above.any() else 0.0
        why = f"no line makes {WANTED:.0%} of the answers right, {held_out}"
        return Threshold(FALLBACK, why, float(above.mean()), share)
    last = int(np.flatnonzero(good)[-1])
    if last == len(order) - 1:
        why = f"{WANTED:.0%} of the answers are right without a line, {held_out}"
        return Threshold(0.0, why, 1.0, float(right.mean()))
    # the middle between the last good answer and the first bad group
    value = float(0.5 * (levels[last] + levels[last + 1]))
    share = float(hits[last] / kept[last])
    return Threshold(value, f"chosen {held_out}", float(kept[last] / len(order)), share)
