"""How good are forecasts of phases? Judged only where something changes.

A phase mostly stays the same from one sample to the next, so "the same again" is right nearly
always and worth nothing. What counts is the sample at which it is wrong: was the phase after it
foreseen, was a warning given before, and how much earlier?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prophase.phase.forecast import NextPhase
from prophase.phase.series import Ints
from prophase.phase.stays import stays_of
from prophase.plural import counted

#: a change within so many samples is worth a warning
HORIZON = 5

#: (samples of the stay before the present one) -> (next phase, samples until it)
Rule = Callable[[int], tuple[int, float]]


@dataclass(frozen=True)
class _Stay:
    """A stay that was seen from its beginning to its end, and what came after it."""

    phase: int
    samples: int
    before: int
    then: int


def score_forecasts(
    model: NextPhase, labels: Sequence[Ints], *, horizon: int = HORIZON
) -> list[dict[str, Any]]:
    """Judge forecasts on further series, beside rules that learn next to nothing.

    Each row is a rule. Of the changes: ``next_right_pct`` went to the phase foreseen,
    ``warned_pct`` had a warning in the ``horizon`` samples before, for the first time
    ``lead_samples`` ahead (median). ``false_pct`` of the warnings came too early or for nothing.
    ``off_factor`` is the factor by which the time to change was wrong, asked when the phase
    begins (geometric mean: stays last one sample or thousands).
    ``all_right_pct`` is the share of all samples foreseen one ahead by the rule that nothing
    changes: it says why this is not the measure.

    Examples
    --------
    >>> from prophase.phase.forecast import learn_next
    >>> cycle = np.tile(np.repeat([0, 1, 2], 10), 6)
    >>> rows = score_forecasts(learn_next([cycle], 3), [cycle])
    >>> [(row["rule"], round(row["next_right_pct"])) for row in rows]
    [('learnt', 100), ('commonest', 35), ('stays the same', 0)]
    """
    stays = list(_whole_stays(labels))
    total = sum(int((one >= 0).sum()) for one in labels)
    return [
        {"rule": rule, **_scored(stays, make, horizon)}
        for rule, make in (("learnt", _learnt(model)), ("commonest", _commonest(model)))
    ] + [
        {
            "rule": "stays the same",
            **_scored(stays, lambda stay: lambda elapsed: (stay.phase, np.inf), horizon),
            "all_right_pct": 100 * (1 - len(stays) / total) if total else np.nan,
        }
    ]


def in_words(rows: Sequence[dict[str, Any]]) -> str:
    """Say in a sentence how well changes were foreseen."""
    learnt, commonest = rows[0], rows[1]
    if not learnt["changes"]:
        return "No change of phase to judge forecasts by."
    said = (
        f"Of {counted(learnt['changes'], 'change')}, the next phase was foreseen at "
        f"{learnt['next_right_pct']:.0f} % (commonest phase: {commonest['next_right_pct']:.0f} %, "
        "stays the same: 0 %)"
    )
    if not np.isfinite(learnt["off_factor"]):
        return f"{said}; no such phase was ever left where the phases were learnt."
    return (
        f"{said}; the time to change was wrong by a factor of {learnt['off_factor']:.1f} "
        f"(usual stay: {commonest['off_factor']:.1f})."
    )


def _whole_stays(labels: Sequence[Ints]) -> Iterator[_Stay]:
    found = stays_of(labels)
    for place in np.flatnonzero(found.whole[:-1] & (found.series[:-1] == found.series[1:])):
        first = place == 0 or found.series[place - 1] != found.series[place]
        yield _Stay(
            int(found.phase[place]),
            int(found.samples[place]),
            -1 if first else int(found.phase[place - 1]),
            int(found.phase[place + 1]),
        )


def _learnt(model: NextPhase) -> Callable[[_Stay], Rule]:
    known: dict[tuple[int, int, int], tuple[int, float]] = {}

    def rule(stay: _Stay) -> Rule:
        def said(elapsed: int) -> tuple[int, float]:
            asked = (stay.phase, stay.before, elapsed)
            if asked not in known:
                found = model.forecast(stay.phase, elapsed=elapsed, before=stay.before)
                known[asked] = (found.next_phase, found.remaining) if found else (-1, np.inf)
            return known[asked]

        return said

    return rule


def _commonest(model: NextPhase) -> Callable[[_Stay], Rule]:
    """Expect the phase that is entered most often, after a stay of the usual length."""
    entered = np.bincount(model.pairs[:, 3], minlength=1)
    usual = float(np.median(model.pairs[:, 2])) if len(model.pairs) else np.inf
    return lambda stay: lambda elapsed: (int(entered.argmax()), max(usual - elapsed, 1.0))


def _scored(
    stays: Sequence[_Stay], make: Callable[[_Stay], Rule], horizon: int
) -> dict[str, int | float]:
    right, off, leads = 0, [], []
    warnings = early = 0
    for stay in stays:
        said = make(stay)
        right += said(stay.samples - 1)[0] == stay.then != stay.phase
        off.append(abs(np.log(said(0)[1] / stay.samples)))
        warned = [elapsed for elapsed in range(stay.samples) if said(elapsed)[1] <= horizon]
        in_time = [elapsed for elapsed in warned if stay.samples - elapsed <= horizon]
        warnings += len(warned)
        early += len(warned) - len(in_time)
        leads += [stay.samples - in_time[0]] if in_time else []
    count = len(stays)
    finite = [error for error in off if np.isfinite(error)]
    return {
        "changes": count,
        "next_right_pct": 100 * right / count if count else np.nan,
        "warned_pct": 100 * len(leads) / count if count else np.nan,
        "false_pct": 100 * early / warnings if warnings else np.nan,
        "lead_samples": float(np.median(leads)) if leads else np.nan,
        "off_factor": float(np.exp(np.mean(finite))) if finite else np.nan,
    }
