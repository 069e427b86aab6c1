"""Which phase comes next, and when; and how good such forecasts are where something changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from prophase.json_types import JsonObject
from prophase.phase.stays import stays_of
from prophase.plural import counted
from prophase.stats import Estimate
from prophase.trace.series.usage_series import Ints

#: stays with the same phase before it that are needed to look two phases back
_ENOUGH = 5


@dataclass(frozen=True)
class PhaseForecast:
    """What is expected while a phase lasts."""

    next_phase: int
    #: how often that one came next under the same circumstances
    probability: float
    #: samples until the change: median, and the ends of four stays out of five
    remaining: Estimate


@dataclass(frozen=True)
class NextPhase:
    """How stays followed each other."""

    #: (n, 4) Each whole stay with a successor: phase before (-1 if none), phase, samples, next
    #: phase
    pairs: Ints
    #: number of phases
    n_phases: int

    def forecast(self, phase: int, *, elapsed: int = 0, before: int = -1) -> PhaseForecast | None:
        """Return what comes after a phase, and when; None if unknown.

        Parameters
        ----------
        elapsed : int
            Samples of this stay before the present one: 0 at the sample that entered the phase.
        before : int
            The phase before this one, if known; used where it was seen often enough.
        """
        same = self.pairs[self.pairs[:, 1] == phase]
        twice = same[same[:, 0] == before] if before >= 0 else same[:0]
        if len(twice) >= _ENOUGH:
            same = twice
        longer = same[same[:, 2] > elapsed]
        # a stay longer than any before ends, as far as is known, any moment
        ahead = longer if len(longer) else same
        if len(same) == 0:
            return None
        counts = np.bincount(ahead[:, 3], minlength=self.n_phases)
        left = np.maximum(longer[:, 2] - elapsed, 1) if len(longer) else np.array([1])
        low, middle, high = np.quantile(left, (0.1, 0.5, 0.9))
        return PhaseForecast(
            int(counts.argmax()),
            float(counts.max() / counts.sum()),
            Estimate(float(middle), float(low), float(high), level=0.8, n=len(left)),
        )


def learn_next(labels: Sequence[Ints], n_phases: int) -> NextPhase:
    """Learn which phase follows which, after how long.

    Examples
    --------
    >>> model = learn_next([np.repeat([0, 1, 0, 1, 2], 10)], 3)
    >>> model.forecast(0, elapsed=4)
    PhaseForecast(next_phase=1, probability=1.0, remaining=Estimate(value=6.0, ...))
    """
    stays = stays_of(labels)
    same = np.append(stays.series[:-1] == stays.series[1:], False) & stays.whole
    place = np.flatnonzero(same)
    follows = (place > 0) & (stays.series[np.maximum(place - 1, 0)] == stays.series[place])
    before = np.where(follows, stays.phase[np.maximum(place - 1, 0)], -1)
    pairs = [
        before,
        stays.phase[place],
        stays.samples[place],
        stays.phase[np.minimum(place + 1, len(stays.phase) - 1)],
    ]
    return NextPhase(np.array(pairs, dtype=np.int64).T.reshape(-1, 4), n_phases)


# How good are forecasts of phases? Judged only where something changes.
#
# A phase mostly stays the same from one sample to the next, so "the same again" is right nearly
# always and worth nothing. What counts is the sample at which it is wrong: was the phase after it
# predicted, was a warning given before, and how much earlier?


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
) -> list[JsonObject]:
    """Judge forecasts on further series, beside rules that learn next to nothing.

    Each row is a rule. Of the changes: ``next_right_pct`` went to the phase predicted,
    ``warned_pct`` had a warning in the ``horizon`` samples before, for the first time
    ``lead_samples`` ahead (median). ``false_pct`` of the warnings came too early or for nothing.
    ``off_factor`` is the factor by which the time to change was wrong, asked when the phase
    begins (geometric mean: stays last one sample or thousands).
    ``all_right_pct`` is the share of all samples predicted one ahead by the rule that nothing
    changes: it says why this is not the measure.

    Examples
    --------
    >>> from prophase.phase.next_phase import learn_next
    >>> cycle = np.tile(np.repeat([0, 1, 2], 10), 6)
    >>> rows = score_forecasts(learn_next([cycle], 3), [cycle])
    >>> [(row["rule"], round(row["next_right_pct"])) for row in rows]
    [('learnt', 100), ('commonest', 35), ('stays the same', 0)]
    """
    stays = list(_whole_stays(labels))
    total = sum(int((one >= 0).sum()) for one in labels)
    return [
        {"rule": rule, **_scored(stays, make, horizon)}
        for rule, make in (("learnt", _from_stays(model)), ("commonest", _commonest(model)))
    ] + [
        {
            "rule": "stays the same",
            **_scored(stays, lambda stay: lambda elapsed: (stay.phase, np.inf), horizon),
            "all_right_pct": 100 * (1 - len(stays) / total) if total else np.nan,
        }
    ]


def in_words(rows: Sequence[JsonObject]) -> str:
    """Say in a sentence how well changes were predicted."""
    learned, commonest = rows[0], rows[1]
    if not learned["changes"]:
        return "No change of phase to judge forecasts by."
    said = (
        f"Of {counted(learned['changes'], 'change')}, the next phase was predicted at "
        f"{learned['next_right_pct']:.0f} % (commonest phase: {commonest['next_right_pct']:.0f} %, "
        "stays the same: 0 %)"
    )
    if not np.isfinite(learned["off_factor"]):
        return f"{said}; no such phase was ever left where the phases were learned."
    return (
        f"{said}; the time to change was wrong by a factor of {learned['off_factor']:.1f} "
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


def _from_stays(model: NextPhase) -> Callable[[_Stay], Rule]:
    known: dict[tuple[int, int, int], tuple[int, float]] = {}

    def rule(stay: _Stay) -> Rule:
        def said(elapsed: int) -> tuple[int, float]:
            asked = (stay.phase, stay.before, elapsed)
            if asked not in known:
                found = model.forecast(stay.phase, elapsed=elapsed, before=stay.before)
                known[asked] = (found.next_phase, found.remaining.value) if found else (-1, np.inf)
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
