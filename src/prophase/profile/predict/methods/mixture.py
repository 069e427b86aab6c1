"""The default: forests and memories pooled into one distribution, and a decision picks the point.

One forest learns the outcome itself, others how far it lies from what the keys say (shrunk
medians; the median of the last five) and from the time limit; of a target that is true or
false, boosted trees learn the probability. Beside them stand plain memories: what the same
key did, all along and lately, what the user did, and all jobs. Each counts as much as it
deserved on the later part of the history, so a trace on which plain medians win is answered
much as they would. The distribution is often two-humped, a job that fails at once or runs to
its end, and its mean or median may then be a value that hardly ever happens: the point is the
one that is most often close to the outcome, with a price on large misses.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.profile.predict.history import Question
from prophase.profile.predict.leaf_forest import (
    FEWEST,
    YES_NO_FEWEST,
    LeafForest,
    matrix,
    rows_for_forests,
)
from prophase.profile.predict.memory import RECENT, SAMPLED, Recall
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.pooled_distribution import (
    FACTOR_TWO,
    NEARLY_EXACT,
    POOLED,
    Opinion,
    best_points,
    densities,
    evenly,
    learn_weights,
    pooled,
)
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.training_features import features, lessons, recent_backoff, shrunk
from prophase.profile.predict.yes_no_target import BoostedChance

#: weights of the opinions before any outcome is known
_PRIOR = {
    "outcome": 3.0,
    "from_shrunk": 3.0,
    "from_recent": 3.0,
    "from_limit": 3.0,
    "boosted": 9.0,
    "key": 1.0,
    "key_lately": 1.0,
    "user": 1.0,
    "all": 1.0,
}
#: how often the finest key was seen decides whose opinion counts: once or twice, a few times,
#: often, very often
_FAMILIAR = (3, 12, 60)
#: weights of all jobs count as this many jobs of each familiarity
_COMMON_JOBS = 100.0
#: how many places of the distribution the decision looks at
_STEPS = {FACTOR_TWO: 33, NEARLY_EXACT: 60}
_LOW, _HIGH = int(0.05 * POOLED), int(0.95 * POOLED)
#: share of the weights above that stays whatever the outcomes say: real traces drift
_PRIOR_SHARE = 0.4
#: outcomes per opinion when weights are learned
_COMPARED = 24
#: jobs answered at once; bounds the memory
_BATCH = 4_000


class Mixture(Predictor):
    """Forests and memories as one distribution, weighted by what they deserved."""

    name = "mixture"

    def _learn(self, question: Question, values: Floats) -> None:
        asked, answers = lessons(question, values, self.random_state)
        recall = self.history_.recall(asked)
        seen = features(asked, recall)
        self.variance_ = max(float(np.var(values)), 1e-6)
        fewest = YES_NO_FEWEST if self.yes_no_ else FEWEST
        self.forests_ = {
            name: LeafForest(fewest=fewest, random_state=self.random_state + number).fit(
                seen, answers - base
            )
            for number, (name, base) in enumerate(_bases(asked, recall).items())
            if self._bears(name, asked)
        }
        if self.yes_no_:
            self.boosted_ = BoostedChance(random_state=self.random_state).fit(seen, answers)

    def _weigh(self, question: Question, values: Floats) -> None:
        recall = self.history_.recall(question)
        opinions = self._opinions(question, recall)
        likely = np.column_stack(
            [densities(opinion(_COMPARED), values, self.variance_) for opinion in opinions.values()]
        )
        prior = np.array([_PRIOR[name] for name in opinions])
        prior /= prior.sum()
        common = learn_weights(likely, prior)
        familiar = _familiarity(recall)
        self.weights_ = []
        for kind in range(len(_FAMILIAR) + 1):
            found = learn_weights(likely[familiar == kind], common, _COMMON_JOBS)
            steady = (1 - _PRIOR_SHARE) * found + _PRIOR_SHARE * prior
            self.weights_.append(dict(zip(opinions, steady.tolist(), strict=True)))

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        point, low, high = (np.full(len(question), np.nan) for _ in range(3))
        if not hasattr(self, "forests_"):
            return PointAndRange(point, low, high)
        useful = FACTOR_TWO if self.target_ == "duration_s" else NEARLY_EXACT
        steps = ((np.arange(_STEPS[useful]) + 0.5) / _STEPS[useful] * POOLED).astype(int)
        familiar = _familiarity(recall)
        for kind in np.unique(familiar).tolist():
            weights = self.weights_[kind] if hasattr(self, "weights_") else _PRIOR
            alike = np.flatnonzero(familiar == kind)
            for first in range(0, len(alike), _BATCH):
                rows = alike[first : first + _BATCH]
                part = [memory.rows(rows) for memory in recall]
                outcomes = pooled(self._opinions(question.rows(rows), part), weights)
                if self.yes_no_:
                    point[rows] = outcomes.mean(axis=1)
                else:
                    point[rows] = best_points(outcomes[:, steps], self.variance_, useful)
                low[rows], high[rows] = outcomes[:, _LOW], outcomes[:, _HIGH]
        return PointAndRange(point, low, high)

    def _bears(self, name: str, question: Question) -> bool:
        """Say whether an opinion bears on the target."""
        if name == "from_limit":
            return self.target_ == "duration_s" and bool(np.isfinite(question.limit_s).any())
        # which of the last few were true is mostly chance
        return not (self.yes_no_ and name in ("from_recent", "key_lately"))

    def _opinions(self, question: Question, recall: list[Recall]) -> dict[str, Opinion]:
        """Return what each forest and each memory has to say, made when asked for."""
        seen = features(question, recall)
        # boosted trees are asked through XGBoost in any case
        data = matrix(seen) if self.yes_no_ else rows_for_forests(seen)
        bases = _bases(question, recall)
        found: dict[str, Opinion] = {
            name: partial(_told_by, forest, data, bases[name])
            for name, forest in self.forests_.items()
        }
        if self.yes_no_:
            found["boosted"] = partial(self.boosted_.outcomes, data)
        owner = next(
            (place for word in ("user", "group")
             if (place := self.history_.level_of(word)) is not None),
            len(recall) - 1,
        )  # fmt: skip
        everything = recall[-1].sample, np.minimum(recall[-1].count, SAMPLED)
        key, lately = _of_finest_key(recall)
        own = recall[owner]
        known = own.count > 0
        user = (
            np.where(known[:, None], own.sample, everything[0]),
            np.where(known, np.minimum(own.count, SAMPLED), everything[1]),
        )
        for name, (ordered, held) in {
            "key": key, "key_lately": lately, "user": user, "all": everything,
        }.items():  # fmt: skip
            if self._bears(name, question):
                found[name] = partial(evenly, ordered, held)
        return found


def _bases(question: Question, recall: list[Recall]) -> Mapping[str, Floats]:
    """Return what each forest's outcomes are measured from."""
    pulled, recent = shrunk(recall), recent_backoff(recall)
    limit = question.limit_s
    known = np.isfinite(limit) & (limit > 0)
    # jobs without a limit are measured from what is usual, which keeps the scale
    from_limit = np.where(known, np.log(np.where(known, limit, 1.0)), pulled)
    return {
        "outcome": np.zeros(len(pulled)),
        "from_shrunk": np.nan_to_num(pulled),
        "from_recent": np.nan_to_num(recent),
        "from_limit": np.nan_to_num(from_limit),
    }


def _told_by(forest: LeafForest, data: object, base: Floats, count: int) -> Floats:
    """Return ``count`` outcomes of a forest, from all of its trees."""
    outcomes = forest.outcomes(data)
    held = outcomes.shape[1]
    chosen = ((np.arange(count) + 0.5) * held / count).astype(int)
    return np.asarray(outcomes[:, chosen] + base[:, None])


def _familiarity(recall: list[Recall]) -> Ints:
    """Return 0, 1, ... by how many finished jobs share the finest key that has any."""
    count = recall[-1].count
    for part in reversed(recall[:-1]):
        count = np.where(part.count > 0, part.count, count)
    return np.digitize(count, _FAMILIAR)


def _of_finest_key(recall: list[Recall]) -> tuple[tuple[Floats, Ints], tuple[Floats, Ints]]:
    """Return the past of the finest key that has any, all along and lately, in order of size."""
    whole, recent = recall[-1].sample.copy(), np.sort(recall[-1].values, axis=1)
    held = recall[-1].count.copy()
    for part in reversed(recall[:-1]):
        known = part.count > 0
        whole[known] = part.sample[known]
        recent[known] = np.sort(part.values[known], axis=1)
        held[known] = part.count[known]
    return (whole, np.minimum(held, SAMPLED)), (recent, np.minimum(held, RECENT))
