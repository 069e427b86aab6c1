"""How much each expert counts, by how jobs turned out: weights move with every finished job.

An *expert* gives equally likely outcomes of a job; the pool of all experts is a mixture of
them. How much of an outcome each expert explains (its share of the mixture's density at it) is
what it has earned there, and weights are the running mean of what was earned: the stepwise form of
expectation maximisation, with a memory that fades (fixed share). An expert that has not earned
anything keeps a small part, so that it can come back when the world changes.
"""

from __future__ import annotations

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.profile.predict.pooled_distribution import learn_weights

#: outcomes after which the weights are moved
_STEP = 20
#: outcomes that the weights remember, and how many those they started from count as
_MEMORY = 300.0
_START = 60.0
#: snapshots that are kept of each cell
_KEPT = 2_000
#: outcomes of all cells count as this many of each
_COMMON = 50.0
#: share of the prior that stays, with fresh outcomes and long after the last one
_STAYS = {False: 0.1, True: 0.2}


class _Path:
    """Weights of one cell as they moved."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights
        self.count = _START
        #: rows of densities that wait for the step to be full
        self.waiting = np.empty((0, len(weights)))
        #: all weights so far, those it began with first, and since when the others hold
        self.moved = weights[None, :]
        self.since = np.empty(0)

    def add(self, density: Floats, known: float) -> None:
        self.waiting = np.vstack([self.waiting, density])
        if len(self.waiting) < _STEP:
            return
        share = self.waiting * self.weights
        share /= share.sum(axis=1, keepdims=True)
        self.count = min(self.count + _STEP, _MEMORY)
        pace = _STEP / self.count
        self.weights = (1 - pace) * self.weights + pace * share.mean(axis=0)
        self.waiting = self.waiting[:0]
        self.moved = np.vstack([self.moved, self.weights])[-_KEPT - 1 :]
        self.since = np.append(self.since, known)[-_KEPT:]


class ExpertWeights:
    """Weights of experts per cell: how familiar a job is, and whether outcomes are fresh.

    Examples
    --------
    >>> held = ExpertWeights(("forest", "median"), np.array([0.5, 0.5]), cells=1)
    >>> density = np.tile([0.1, 0.9], (400, 1))
    >>> held.add(density, np.zeros(400, dtype=int), np.arange(400.0))
    >>> weights, which = held.at(np.zeros(2, dtype=int), np.array([0.0, np.inf]))
    >>> weights[which].round(2).tolist()
    [[0.5, 0.5], [0.12, 0.88]]
    """

    def __init__(self, names: tuple[str, ...], prior: Floats, cells: int) -> None:
        self.names = names
        self.prior = prior / prior.sum()
        self.cells = cells
        self._paths = {
            (cell, stale): _Path(self.prior) for cell in range(cells) for stale in (False, True)
        }
        self._newest = -np.inf

    def start(self, density: Floats, cell: Ints, *, stale: bool) -> None:
        """Begin with the weights under which these outcomes are likeliest."""
        common = learn_weights(density, self.prior)
        for place in range(self.cells):
            own = density[cell == place]
            # fresh weights go through the same outcomes one by one afterwards
            weights = learn_weights(own, common, _COMMON) if stale else common
            self._paths[place, stale] = _Path(weights)

    def carry_over(self, cell: int) -> None:
        """Begin with fresh outcomes as long after the last one."""
        self._paths[cell, False] = _Path(self._paths[cell, True].weights)

    def add(self, density: Floats, cell: Ints, end: Floats, *, stale: bool = False) -> None:
        """Let outcomes move the weights, in the order in which they became known."""
        # of a job that came before anything had ended nothing could be said
        told = np.isfinite(density.sum(axis=1))
        for row in np.argsort(end, kind="stable").tolist():
            # what is reported late was not known before
            self._newest = max(self._newest, float(end[row]))
            if told[row]:
                self._paths[int(cell[row]), stale].add(density[row], self._newest)

    def at(self, cell: Ints, as_of: Floats, *, stale: bool = False) -> tuple[Floats, Ints]:
        """Return all weights that are needed, and which of them each job gets."""
        found: list[Floats] = []
        which = np.zeros(len(cell), dtype=np.int64)
        stays = _STAYS[stale]
        for place in np.unique(cell).tolist():
            path = self._paths[int(place), stale]
            rows = np.flatnonzero(cell == place)
            step = np.searchsorted(path.since, as_of[rows], side="left")
            steps, own = np.unique(step, return_inverse=True)
            which[rows] = len(found) + own
            found += list((1 - stays) * path.moved[steps] + stays * self.prior)
        return np.array(found).reshape(-1, len(self.names)), which
