"""Hidden Markov model whose states move: each phase has a level, a memory and a spread.

A sample is predicted from the ones before it by the coefficients of its state, metric by metric
(an autoregressive hidden Markov model; Hamilton, Econometrica 1989). Order 0 is the plain
Gaussian one, which sees levels alone; higher orders tell phases apart that use the same on
average and move differently. The first sample after a change has nothing to do with those
before it: a state that is entered is judged by its level, a state that stays by its prediction.
Without this a change of level looks like a phase of its own, one sample long.

Learned by Baum-Welch; a label is the likeliest state given the samples so far (filtering), never
given later ones.

Probabilities are kept as logarithms and shifted by their largest before they are added, so no
series is too long and no sample too strange.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from prophase.errors import InputError
from prophase.trace.series.autoregression import (
    fitted_motion,
    log_density,
    moments_of,
    variance_floor,
    with_lags,
)
from prophase.trace.series.kmeans_centres import kmeans, nearest
from prophase.trace.series.usage_series import Floats, Ints

#: chunks that long series are cut into while learning, so that many advance at once
_CHUNK = 200
#: samples that a model is learned from at most
MOST_SAMPLES = 60_000
#: two of these can be multiplied: no likelihood is taken as smaller than its inverse
_MOST = 1e150
_LEAST_LOG = -745.0
#: how far the level of a state may be off in another series, in spreads of the metric; chosen on
#: made series 100 to 111
_ROOM = 0.2
#: what a model has one of per state
_BY_STATE = ("start", "weights", "variance", "level", "spread")


@dataclass(frozen=True)
class HMM:
    """A learned model; ``k`` states, ``m`` metrics, order ``p``.

    Attributes
    ----------
    start : array (k,)
        Probability of each state at the first sample.
    moves : array (k, k)
        Probability of the next state, by row.
    weights : array (k, m, 1 + p)
        Prediction of a metric: constant, then one weight per sample before, the latest first.
    variance : array (k, m)
        Spread around that prediction.
    level, spread : array (k, m)
        Mean and variance of the samples of a state, by which it is judged when it is entered.
    log_likelihood : float
        Of the samples it was learned from, those that an order-``p`` history precedes.
    samples : int
        Number of these samples.
    """

    start: Floats
    moves: Floats
    weights: Floats
    variance: Floats
    level: Floats
    spread: Floats
    log_likelihood: float
    samples: int

    @property
    def states(self) -> int:
        return len(self.start)

    @property
    def order(self) -> int:
        return int(self.weights.shape[2]) - 1

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        k = self.states
        entering = self.level.size + self.spread.size if self.order else 0
        return k * k - 1 + self.weights.size + self.variance.size + entering

    def densities(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the log density of each sample that has a history, (n - p, k): staying, entering.

        The first is that under a state that was there before, the second that under one that
        is entered.
        """
        design = with_lags(values, self.order)
        staying = log_density(design, self.weights, self.variance)
        if not self.order:
            return staying, staying
        return staying, log_density(design[:, :, :2], self.level[:, :, None], self.spread)

    def filtered(self, values: Floats) -> Floats:
        """Return the probability of each state given the samples so far, (n - p, k)."""
        staying, entering = self.densities(values)
        found = np.empty_like(staying)
        belief: Floats | None = None
        for place in range(len(staying)):
            belief = self.advance(belief, staying[place], entering[place])
            found[place] = belief
        return found

    def widened(self, series: int) -> HMM:
        """Return the model for further series, after it was learned from so many.

        The same phase of another container has a level a little higher or lower. Many series have
        shown by how much; one has not.
        """
        room = _ROOM**2 / series
        leaving = 1 - self.weights[:, :, 1:].sum(axis=2)
        return replace(self, spread=self.spread + room, variance=self.variance + leaving**2 * room)

    def advance(self, belief: Floats | None, staying: Floats, entering: Floats) -> Floats:
        """Return the belief about the state after one more sample; None before the first."""
        largest = max(staying.max(), entering.max())
        stay, enter = np.exp(staying - largest), np.exp(entering - largest)
        if belief is None:
            after = self.start * stay
        else:
            kept = belief * self.moves.diagonal()
            after = kept * stay + (belief @ self.moves - kept) * enter
        total = after.sum()
        # nothing that was possible explains the sample: begin from the sample alone
        if not total > 0:
            after = np.exp(entering - entering.max())
            total = after.sum()
        return np.asarray(after / total)


def learn_hmm(
    stretches: list[Floats],
    states: int,
    *,
    order: int = 0,
    random_state: int = 0,
    most_rounds: int = 40,
    tolerance: float = 1e-4,
    guess: str | Sequence[Ints] = "movement",
) -> HMM:
    """Learn a model by Baum-Welch.

    Parameters
    ----------
    stretches : list of arrays (n, m)
        Uninterrupted values, scaled to a spread of about 1. Those too short are left out.
    states, order : int
        Number of states, and how many samples before one predict it.
    guess : {"movement", "level"} or a state per sample of each stretch
        What learning begins from: groups of samples that move alike around them, or of samples
        that are alike. It finds the nearest good model from there, so both are worth a try.
        A state below 0 is not known.
    tolerance : float
        Stop when a round betters the log likelihood per sample by less.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> level = np.repeat([0.0, 5.0, 0.0], 50)
    >>> model = learn_hmm([(level + rng.normal(0, 0.1, 150))[:, None]], 2)
    >>> sorted(model.weights[:, 0, 0].round(1).tolist())
    [0.0, 5.0]
    """
    rng = np.random.default_rng(random_state)
    if isinstance(guess, str):
        chunks = _chunks(stretches, order, rng)
        start = _first_guess(chunks, states, order, guess, random_state)
    else:
        told = [
            np.column_stack(both).astype(np.float64) for both in zip(stretches, guess, strict=True)
        ]
        cut = _chunks(told, order, rng)
        chunks = [one[:, :-1] for one in cut]
        start = np.concatenate([one[order:, -1] for one in cut]).astype(np.int64)
    lagged = [with_lags(chunk, order) for chunk in chunks]
    design = np.concatenate(lagged)
    floor = variance_floor(design)
    belief = np.full((len(design), states), 0.05 / states)
    belief[np.arange(len(design)), start] += 0.95
    belief[start < 0] = 1.0 / states
    moments = moments_of(design)
    fitted = fitted_motion(moments, (belief, belief), floor)
    moves = np.full((states, states), 0.05 / max(states - 1, 1))
    np.fill_diagonal(moves, 0.95 if states > 1 else 1.0)
    begin = np.full(states, 1.0 / states)
    padded = _Padded([len(one) for one in lagged])
    before = -np.inf
    for _ in range(most_rounds):
        weights, variance, level, spread = fitted
        staying = log_density(design, weights, variance)
        entering = log_density(design[:, :, :2], level[:, :, None], spread) if order else staying
        beliefs, pairs, firsts, likelihood = _expect(padded, staying, entering, begin, moves)
        if likelihood - before < tolerance * len(design):
            break
        before = likelihood
        fitted = fitted_motion(moments, beliefs, floor)
        moves = (pairs + 0.1) / (pairs + 0.1).sum(axis=1, keepdims=True)
        begin = (firsts + 0.1) / (firsts + 0.1).sum()
    return HMM(begin, moves, *fitted, float(likelihood), len(design))


def best_hmm(stretches: list[Floats], states: int, *, order: int, random_state: int = 0) -> HMM:
    """Return the likelier of the models that each first guess leads to, states by level."""
    found = [
        learn_hmm(stretches, states, order=order, random_state=random_state, guess=guess)
        for guess in (("movement", "level") if order else ("level",))
    ]
    return by_level(max(found, key=lambda one: one.log_likelihood))


def by_level(model: HMM) -> HMM:
    """Number states by their level, so that the numbers mean the same in every run."""
    order = np.lexsort(model.level.T[::-1])
    by_state = {name: getattr(model, name)[order] for name in _BY_STATE}
    return replace(model, moves=model.moves[np.ix_(order, order)], **by_state)


def _chunks(stretches: list[Floats], order: int, rng: np.random.Generator) -> list[Floats]:
    """Cut long stretches, and draw some if there are more samples than needed."""
    cut = [
        stretch[max(begin - order, 0) : begin + _CHUNK]
        for stretch in stretches
        for begin in range(0, len(stretch), _CHUNK)
    ]
    cut = [chunk for chunk in cut if len(chunk) > order + 1]
    total = sum(map(len, cut))
    if total <= MOST_SAMPLES:
        return cut
    kept, held = [], 0
    for place in rng.permutation(len(cut)):
        if held >= MOST_SAMPLES:
            break
        kept.append(place)
        held += len(cut[place])
    return [cut[place] for place in sorted(kept)]


class _Padded:
    """Chunks side by side, so that one step in time is one operation for all of them."""

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = np.array(lengths)
        self.order = np.argsort(-self.lengths, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self.offsets = offsets[self.order]
        self.lengths = self.lengths[self.order]
        steps = np.arange(self.lengths[0])
        #: chunks that have a sample at each step: the first so many, since longer ones come first
        self.alive = np.searchsorted(-self.lengths, -steps, side="left")


def _forward(
    padded: _Padded, staying: Floats, entering: Floats, start: Floats, moves: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return beliefs given the samples so far, log likelihood per sample, and shifted densities."""
    largest = np.maximum(staying.max(axis=1), entering.max(axis=1))
    stay = np.exp(np.maximum(staying - largest[:, None], _LEAST_LOG))
    enter = np.exp(np.maximum(entering - largest[:, None], _LEAST_LOG))
    kept, moved = moves.diagonal(), moves - np.diag(moves.diagonal())
    forward = np.empty_like(stay)
    scale = np.empty(len(stay))
    for step, alive in enumerate(padded.alive):
        rows = padded.offsets[:alive] + step
        if step == 0:
            found = start * stay[rows]
        else:
            before = forward[rows - 1]
            found = before * kept * stay[rows] + (before @ moved) * enter[rows]
        total = np.maximum(found.sum(axis=1), 1 / _MOST)
        scale[rows] = total
        forward[rows] = found / total[:, None]
    return forward, np.log(scale) + largest, stay / scale[:, None], enter / scale[:, None]


def _expect(
    padded: _Padded, staying: Floats, entering: Floats, start: Floats, moves: Floats
) -> tuple[tuple[Floats, Floats], Floats, Floats, float]:
    """Forward-backward over all chunks: beliefs, expected moves and starts, log likelihood.

    Beliefs are two: in this state, and in this state as well as in it before.
    """
    forward, likelihood, stay, enter = _forward(padded, staying, entering, start, moves)
    kept, moved = moves.diagonal(), moves - np.diag(moves.diagonal())
    backward = np.ones_like(stay)
    remained = np.empty_like(stay)
    pairs = np.zeros_like(moves)
    for step in range(len(padded.alive) - 1, 0, -1):
        rows = padded.offsets[: padded.alive[step]] + step
        staid, entered = stay[rows] * backward[rows], enter[rows] * backward[rows]
        # a sample that no state explains would let it grow beyond what a float holds
        backward[rows - 1] = np.minimum(kept * staid + entered @ moved.T, _MOST)
        before = forward[rows - 1]
        remained[rows] = before * kept * staid
        pairs += (before.T @ entered) * moved + np.diag(remained[rows].sum(axis=0))
    belief = forward * backward
    belief /= np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    remained[padded.offsets] = belief[padded.offsets]
    starts = belief[padded.offsets].sum(axis=0)
    return (belief, remained), pairs, starts, float(likelihood.sum())


def _first_guess(chunks: list[Floats], states: int, order: int, guess: str, seed: int) -> Ints:
    """Return a state per sample from level and movement around it, to begin with.

    Learning may look ahead, so this takes a window around the sample.
    """
    features = np.concatenate(
        [(_around(one) if guess == "movement" and order else one)[order:] for one in chunks]
    )
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    try:
        return nearest(scaled, kmeans(scaled, states, random_state=seed).places)
    except InputError:  # fewer different samples than states
        return np.random.default_rng(seed).integers(0, states, len(scaled))


def _around(values: Floats, half: int = 8) -> Floats:
    """Return level, movement and spread around every sample."""
    n = len(values)
    step = np.abs(np.diff(values, axis=0, prepend=values[:1]))
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    moved = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(step, axis=0)])
    squares = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values**2, axis=0)])
    low = np.maximum(np.arange(n) - half, 0)
    high = np.minimum(np.arange(n) + half + 1, n)
    width = (high - low)[:, None]
    mean = (sums[high] - sums[low]) / width
    movement = (moved[high] - moved[low]) / width
    spread = np.sqrt(np.maximum((squares[high] - squares[low]) / width - mean**2, 0.0))
    return np.hstack([mean, np.log(movement + 1e-3), np.log(spread + 1e-3)])
