"""When did a stream of scores change? Sequential detectors with a stated false-alarm rate.

A CUSUM adds up by how much scores exceed what they used to be, and starts over whenever
nothing is left (Page 1954). Several allowances run side by side: a small one sees a small
change of many jobs, a large one a large change of few. Scores of real jobs are neither normal
nor independent, so no textbook threshold holds. Thresholds come from the reference itself:
streams are drawn from it in blocks, which keeps bursts together, and the extreme-value law of
their largest sums says which height is crossed at the promised rate.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import special

from prophase.array_types import Floats, Ints
from prophase.errors import ParameterError

#: changes smaller than twice this, in standard deviations, are let pass
ALLOWANCES = (0.12, 0.18, 0.27, 0.4, 0.6, 0.9, 1.35)
#: larger ones are for references too short to show less
_LARGEST = 0.4
#: how many errors of the reference's own mean an allowance has to exceed
_SURE = 3.5
#: how many standard deviations of the slow wandering of the mean it has to exceed
_ROAM = 2.0
_STREAMS, _LENGTH = 100, 2_000
#: rare events that may come together by chance
_TOGETHER = 2.0
_EULER = 0.5772156649
#: scores among which the beginning of a change is looked for
_REMEMBERED = 4_000


@dataclass(frozen=True)
class Crossing:
    """A detector went over its threshold: where, since when, and by which allowance."""

    #: places in the scores that were given: the alarm, and the first score of the change;
    #: the latter is negative if the change began in earlier scores
    at: int
    since: int
    allowance: float


@dataclass(eq=False, repr=False)
class Cusum:
    """Sums of weighted scores above their allowances, side by side.

    Attributes
    ----------
    allowances_, thresholds_ : array
        One per sum.
    sums_ : array
        Where the sums stand.

    Examples
    --------
    >>> draw = np.random.default_rng(1)
    >>> detector = Cusum(rate=1e-4).fit(draw.normal(0.0, 1.0, 1000))
    >>> detector.update(draw.normal(0.0, 1.0, 500)) is None
    True
    >>> found = detector.update(draw.normal(1.0, 1.0, 500))
    >>> found.at < 60, abs(found.since) < 60
    (True, True)
    """

    _: KW_ONLY
    #: false alarms per score that are allowed, over all allowances together
    rate: float
    #: seed of the streams that thresholds are learned from
    random_state: int = 0

    def fit(
        self,
        scores: Floats,
        weights: Floats | None = None,
        *,
        least_variance: float = 0.0,
        jump: float = 0.0,
    ) -> Cusum:
        """Learn thresholds from scores of a quiet time, whose mean is near zero.

        Parameters
        ----------
        weights : array, optional
            What each score counts.
        least_variance : float, default=0
            Variance of a sum per score that is known from elsewhere; a short or empty reference
            hardly shows it.
        jump : float, default=0
            Score of a single rare event. Thresholds leave room for some that come together.
        """
        if not 0 < self.rate < 1:
            raise ParameterError(f"rate is {self.rate}; give false alarms per job, such as 1e-5.")
        held = np.ones(len(scores)) if weights is None else weights
        moved = held * scores
        self.reference_ = len(scores)
        self.mean_weight_ = max(float(held.mean()), 1e-9)
        self.mean_square_ = max(float(np.mean(held**2)), 1e-9)
        self.long_run_variance_ = max(long_run_variance(moved), least_variance)
        self.wander_ = wander(moved, self.long_run_variance_)
        self.allowances_ = np.array(ALLOWANCES)
        self.thresholds_ = self._learn_thresholds(moved, held) + _TOGETHER * jump
        self._start(float(held.sum()))
        return self

    def restart(self, reference: float) -> None:
        """Start over after the scores were put on a scale learned from so much weight of them.

        What was learned of bursts and slow wandering still holds; a shorter reference only
        makes smaller changes invisible.
        """
        self._start(reference)

    def _start(self, reference: float) -> None:
        # all per unit of weight, as the allowances are
        rows = max(reference, 1e-9) / self.mean_weight_
        off = _SURE**2 * self.long_run_variance_ / rows + (_ROAM * self.wander_) ** 2
        least = float(np.sqrt(off)) / self.mean_weight_
        enough = self.allowances_[self.allowances_ >= min(least, self.allowances_[-1])]
        self.used_ = (self.allowances_ >= enough[0]) & (
            self.allowances_ <= max(enough[0], _LARGEST)
        )
        self.sums_ = np.zeros(len(self.allowances_))
        self.recent_ = np.empty((2, 0))

    @property
    def level(self) -> float:
        """How near the nearest sum is to its threshold; 1 is an alarm."""
        return float((self.sums_ / self.thresholds_)[self.used_].max())

    def update(self, scores: Floats, weights: Floats | None = None) -> Crossing | None:
        """Take further scores; stops at the first alarm and leaves later scores unread."""
        if not len(scores):
            return None
        held = np.ones(len(scores)) if weights is None else weights
        path = self.sums_[:, None] + np.cumsum(held * (scores - self.allowances_[:, None]), axis=1)
        sums = path - np.minimum(np.minimum.accumulate(path, axis=1), 0.0)
        over = (sums > self.thresholds_[:, None]) & self.used_[:, None]
        at = int(over.any(axis=0).argmax()) if over.any() else len(scores) - 1
        self.sums_ = sums[:, at].copy()
        read = np.stack([held * scores, held])[:, : at + 1]
        self.recent_ = np.concatenate([self.recent_, read], axis=1)[:, -_REMEMBERED:]
        if not over.any():
            return None
        which = int((self.used_ * self.sums_ / self.thresholds_).argmax())
        age = _age_of_change(*self.recent_)
        return Crossing(at, at + 1 - age, float(self.allowances_[which]))

    def _learn_thresholds(self, moved: Floats, weights: Floats) -> Floats:
        draw = np.random.default_rng(self.random_state)
        rows = _blocks(len(moved), draw)
        each = self.rate / int((self.allowances_ <= _LARGEST).sum())
        found = []
        spread = float(np.sqrt(max(self.long_run_variance_, 1e-12)))
        for allowance in self.allowances_:
            path = np.cumsum(moved[rows] - allowance * weights[rows], axis=1)
            lowest = np.minimum(np.minimum.accumulate(path, axis=1), 0.0)
            largest = (path - lowest).max(axis=1)
            # Gumbel law of maxima, by moments; extrapolates to rates rarer than the streams show
            scale = max(float(largest.std()) * np.sqrt(6.0) / np.pi, 1e-9)
            middle = float(largest.mean()) - _EULER * scale
            drawn = middle + scale * float(np.log(1.0 / (_LENGTH * each)))
            # streams hold no worse burst than the reference; Siegmund's law (1985, eq. 2.53) does
            step = allowance * self.mean_weight_ / spread
            known = spread * (float(np.log1p(2.0 * step**2 / each)) / (2.0 * step) - 1.166)
            found.append(max(drawn, known))
        return np.array([max(one, 1e-6) for one in found], dtype=np.float64)


def _age_of_change(moved: Floats, weights: Floats) -> int:
    """Return how many scores ago the mean most likely rose from zero (Hinkley 1970)."""
    total = np.cumsum(moved[::-1])
    likely = np.where(total > 0, total**2 / np.cumsum(weights[::-1] ** 2), 0.0)
    return int(likely.argmax()) + 1


def long_run_variance(scores: Floats) -> float:
    """Variance of a sum of scores per score, with its autocorrelation (batch means).

    Examples
    --------
    >>> independent = np.random.default_rng(0).normal(0.0, 1.0, 4000)
    >>> bool(abs(long_run_variance(independent) - 1.0) < 0.3)
    True
    >>> bool(abs(long_run_variance(np.repeat(independent[:400], 10)) - 10.0) < 3.0)
    True
    """
    found = float(np.var(scores)) if len(scores) else 0.0
    for size in (12, 25, 50, 100):
        batches = len(scores) // size
        if batches < 12:
            break
        means = scores[: batches * size].reshape(batches, size).mean(axis=1)
        found = max(found, float(size * np.var(means, ddof=1)))
    return found


def wander(scores: Floats, variance: float) -> float:
    """Standard deviation of the mean of some hundred scores beyond what bursts explain.

    Examples
    --------
    >>> steady = np.random.default_rng(0).normal(0.0, 1.0, 4000)
    >>> wander(steady, long_run_variance(steady))
    0.0
    >>> roaming = steady + 0.5 * np.sin(np.arange(4000) / 300)
    >>> bool(0.2 < wander(roaming, 1.0) < 0.5)
    True
    """
    found = 0.0
    for size in (125, 250, 500, 1_000):
        batches = len(scores) // size
        if batches < 6:
            break
        means = scores[: batches * size].reshape(batches, size).mean(axis=1)
        spread, by_chance = float(np.var(means, ddof=1)), variance / size
        # chi-squared of the spread of means; only what chance hardly gives counts
        if spread > by_chance * float(special.chdtri(batches - 1, 0.02)) / (batches - 1):
            found = max(found, spread - by_chance)
    return float(np.sqrt(found))


def _block_length(rows: int) -> int:
    return int(np.clip(rows // 20, 1, 100))


def _blocks(rows: int, draw: np.random.Generator) -> Ints:
    """Return places of streams drawn in blocks, (streams, length); the end joins the beginning."""
    size = _block_length(rows)
    starts = draw.integers(0, rows, (_STREAMS, -(-_LENGTH // size)))
    places = (starts[:, :, None] + np.arange(size)) % rows
    return places.reshape(_STREAMS, -1)[:, :_LENGTH]
