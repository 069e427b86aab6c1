"""The default: experts weighed as jobs end, pooled into one distribution; the best point leads.

One forest learns the outcome itself, others how far it lies from what the keys say (shrunk
medians; the median of the last five) and from the time limit; of a target that is true or
false, boosted trees learn the probability. Beside them stand plain memories: what the same
key did, all along and lately, what the user did, and all jobs, all along and lately. Each counts
as much as it has earned on jobs that ended before (:mod:`~prophase.profile.predict.
expert_weights`), so weights follow when the world changes. Learnt once, the weights
come from later parts of the history, seen from a moment before them, some jobs of which
were made strangers: owner, application or cluster unknown. Where names are read as text, which
tells something of strangers too, whole owners or applications are left out in turn instead, and
weights, point and range of a job of an unknown one come from these.

The number that is told is the back-off median until another one has proved better on such jobs
(:mod:`~prophase.profile.predict.leading_point`): the same where enough of the distribution lies
around it, or what the distribution makes of the job. The latter is often two-humped, a job that
fails at once or runs to its end, and its mean or median may then be a value that hardly ever
happens; its own choice is the point that is most often close to the outcome, with a price on large
misses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Array, Bools, Floats, Ints
from prophase.plural import counted, listed
from prophase.profile.predict.back_off_keys import spoken_column
from prophase.profile.predict.expert_weights import ExpertWeights
from prophase.profile.predict.experts import (
    FAMILIAR,
    FORESTS,
    PRIOR,
    Expert,
    bases,
    familiarity,
    of_forests,
    of_memories,
    of_outcomes,
    of_rows,
)
from prophase.profile.predict.history import History, Question
from prophase.profile.predict.leading_point import (
    SIMPLE,
    TRUSTED,
    LeadingPoint,
    gains,
    most_useful,
)
from prophase.profile.predict.leaf_forest import (
    FEWEST,
    TREES,
    YES_NO_FEWEST,
    LeafForest,
    matrix,
    rows_for_forests,
)
from prophase.profile.predict.left_out_owners import owner_level, turns
from prophase.profile.predict.memory import RECENT, Recall
from prophase.profile.predict.point_and_range import (
    STRANGER,
    Match,
    PointAndRange,
    finest,
    strata_of,
)
from prophase.profile.predict.pooled_distribution import (
    EXACT_TOO,
    FACTOR_TWO,
    NEARLY_EXACT,
    POOLED,
    best_points,
    densities,
    learn_weights,
    pooled,
)
from prophase.profile.predict.predictor import FEWEST_FINISHED, Predictor
from prophase.profile.predict.range_levels import LevelCalibrator, levels_of
from prophase.profile.predict.training_features import (
    PART,
    features,
    lessons,
    recent_backoff,
    strangers,
)
from prophase.profile.predict.word_memory import WordRecall
from prophase.profile.predict.yes_no_target import BoostedChance, ShareCalibrator

#: whose weights count of an unknown owner or application, where that is known to be told
_STRANGE = len(FAMILIAR) + 1
#: places of the distribution that are kept
_STEPS = 64
_PLACES = ((np.arange(_STEPS) + 0.5) / _STEPS * POOLED).astype(int)
_LOW, _HIGH = int(0.05 * _STEPS), int(0.95 * _STEPS)
#: the back-off median is trusted if so much of the distribution lies within a factor of two
_AROUND = 0.4
#: the last of the numbers that could be told: of run times the median of the latest jobs of
#: the key, of what jobs use the distribution's own number
_LATELY = _OWN = 2
#: outcomes per expert when weights are learned
_COMPARED = 24
#: jobs answered at once; bounds the memory
_BATCH = 4_000
#: parts of the history that are judged from a moment before them: from and to which share
_FOLDS = ((0.45, 0.7), (0.7, 1.0))
_MOST_JUDGED = 6_000
#: lessons before such a part; forests that only judge need not see all of a long history
_MOST_BEFORE = 100_000
#: how much likelier, in logarithms, an encoder makes later outcomes if it wins; one that finds
#: nothing gains up to 0.02 by chance, and one that gained 0.04 lost on the jobs that came then
_WON = 0.1
#: parts of a long history that forests are grown on, a part of their trees on each
_PARTS = (1, 2, 3, 4, 6, 8, 12)
_MOST_STRANGERS = 1_500
_OWNERS = {"user", "group"}
_ALIKE = {False: "the same words", True: "words of nearly the same meaning"}
#: a word per job that says how well it is known
Strata = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class _Fold:
    """A part of the history that is judged as of a moment, and the forests of other parts."""

    rows: Ints
    asked: Question
    forests: dict[str, LeafForest]
    boosted: BoostedChance | None
    history: History


class Mixture(Predictor):
    """Forests and memories as one distribution, weighted by what they have earned."""

    name = "mixture"
    _reads_text = True
    _moved_by_updates: ClassVar[tuple[str, ...]] = ("calibrator_", "weights_", "leading_")
    #: the level that says whether anything of a job's owner or application has run
    owners_: int | None = None

    def __init__(self, *, random_state: int = 0, encoder: str | None = None) -> None:
        super().__init__(random_state=random_state)
        self.encoder = encoder

    def _learn(
        self, question: Question, values: Floats, among: Ints | None = None,
        most: int | None = None,
    ) -> None:  # fmt: skip
        """Grow the forests; of a long history each of their parts learns from other jobs."""
        count = len(values) if among is None else len(among)
        most = count if most is None else most
        if self.yes_no_:
            most = PART
        names = [name for name in FORESTS if name in self.weights_.names]
        wanted = min(count, most) / PART
        parts = next((one for one in _PARTS if one >= wanted), _PARTS[-1])
        # of a very long history each forest has parts of its own
        forests = len(names) if wanted > _PARTS[-1] else 1
        fewest = YES_NO_FEWEST if self.yes_no_ else FEWEST
        grown: dict[str, list[LeafForest]] = {}
        taught = lessons(question, values, self.random_state, most, parts * forests, among)
        for part, (lesson, answers) in enumerate(taught):
            asked = strangers(lesson, self.history_.levels, self.random_state + part)
            seen, from_ = self._lesson(asked)
            for name in names[part % forests :: forests]:
                seed = self.random_state + FORESTS.index(name) + part * len(FORESTS)
                forest = LeafForest(fewest=fewest, trees=TREES // parts, random_state=seed)
                grown.setdefault(name, []).append(forest.fit(seen, answers - from_[name]))
        self.forests_ = {name: LeafForest.joined(grown[name]) for name in names}
        if self.yes_no_:
            self.boosted_ = BoostedChance(random_state=self.random_state).fit(seen, answers)

    def _lesson(self, asked: Question) -> tuple[Floats, Mapping[str, Floats]]:
        """Return what forests see of jobs, and what their outcomes are measured from."""
        recall, words = self.history_.recall(asked), self._words(asked)
        return features(asked, recall, words), bases(asked, recall, words)

    def _calibrate(self, question: Question, values: Floats, end: Floats) -> None:
        """Judge later parts of the history from before them, then learn from all of it."""
        self.variance_ = max(float(np.var(values)), 1e-6)
        self.owners_ = owner_level(self.history_, question)
        self.weights_ = self._first_weights(question)
        scale = float(np.sqrt(self.variance_))
        self.calibrator_ = ShareCalibrator() if self.yes_no_ else LevelCalibrator(scale)
        self.usual_lag_ = np.inf
        folds = self._folds(question, values, end)
        if self.history_.meanings is not None and not self._meanings_win(folds, question, values):
            self.history_.meanings = None
            self.weights_ = self._first_weights(question)
        trusted = bool(folds) and self.target_ != "duration_s"
        self.leading_ = LeadingPoint(TRUSTED if trusted else SIMPLE)
        if folds:
            self._judge_folds(folds, question, values, end)
            self._judge_fresh(folds[-1], question, values, end)
        elif in_turn := self._folds_in_turn(question, values, end):
            whole = self.history_
            self._judge_folds(in_turn, question, values, end)
            self.history_ = whole
            for cell in range(self.weights_.cells):
                self.weights_.carry_over(cell)
        self._learn(question, values)

    def _first_weights(self, question: Question) -> ExpertWeights:
        names = tuple(name for name in PRIOR if self._bears(name, question))
        prior = np.array([PRIOR[name] for name in names])
        return ExpertWeights(names, prior, _STRANGE + (self.owners_ is not None))

    def _meanings_win(self, folds: list[_Fold], question: Question, values: Floats) -> bool:
        """Say whether later jobs are likelier with what a text encoder finds than without.

        Each part is told with the weights that the other one leads to, as of before it and as of
        when each of its jobs came.
        """
        if len(folds) < len(_FOLDS):
            return False
        others = np.array([name != "meaning" for name in self.weights_.names])
        gains = []
        for fresh in (False, True):
            parts = []
            for one in folds:
                asked = question.rows(one.rows) if fresh else one.asked
                density, _ = self._with(one)._earned(asked, values[one.rows])
                parts.append(density[np.isfinite(density.sum(axis=1))])
            for learnt, judged in (parts, parts[::-1]):
                told = []
                for some in (np.ones(len(others), dtype=np.bool_), others):
                    prior = self.weights_.prior[some] / self.weights_.prior[some].sum()
                    weights = learn_weights(learnt[:, some], prior)
                    told.append(np.log(judged[:, some] @ weights).mean())
                gains.append(told[0] - told[1])
        return bool(min(gains) > 0 and np.mean(gains) > _WON)

    def _folds(self, question: Question, values: Floats, end: Floats) -> list[_Fold]:
        arrival, rows = question.arrival, len(values)
        draw = np.random.default_rng(self.random_state)
        found = []
        for begin, until in _FOLDS:
            first, last = int(begin * rows), int(until * rows)
            if last - first < FEWEST_FINISHED:
                continue
            cut = float(arrival[first])
            early = np.flatnonzero((arrival < cut) & (end < cut))
            late = np.flatnonzero((arrival >= cut) & (np.arange(rows) < last))
            if len(late) > _MOST_JUDGED:
                late = np.sort(draw.choice(late, _MOST_JUDGED, replace=False))
            if len(early) >= FEWEST_FINISHED and len(late):
                self._learn(question, values, early, _MOST_BEFORE)
                asked = question.rows(late, np.full(len(late), cut))
                found.append(self._fold(late, asked))
        return found

    def _folds_in_turn(self, question: Question, values: Floats, end: Floats) -> list[_Fold]:
        """Judge later jobs by earlier ones where none had ended before the others came.

        Their outcomes were not known then; but a range that nothing was compared with would be as
        wide as everything that ever happened, and move with the longest job.
        """
        draw, found = np.random.default_rng(self.random_state), []
        for begin, until in _FOLDS:
            first, last = int(begin * len(values)), int(until * len(values))
            if min(first, last - first) >= FEWEST_FINISHED:
                late = np.arange(first, last)
                if len(late) > _MOST_JUDGED:
                    late = np.sort(draw.choice(late, _MOST_JUDGED, replace=False))
                asked = question.rows(late, np.full(len(late), np.inf))
                found.append(self._fold_of(question, values, end, np.arange(first), late, asked))
        return found

    def _fold_of(
        self, question: Question, values: Floats, end: Floats, known: Ints, judged: Ints,
        asked: Question,
    ) -> _Fold:  # fmt: skip
        """Return jobs to be judged by what some others did, whenever these ended."""
        whole = self.history_
        self.history_ = whole.of_others(question.rows(known), end[known], values[known])
        self._learn(question, values, known, _MOST_BEFORE)
        fold = self._fold(judged, asked)
        self.history_ = whole
        return fold

    def _fold(self, rows: Ints, asked: Question) -> _Fold:
        return _Fold(rows, asked, self.forests_, getattr(self, "boosted_", None), self.history_)

    def _strange_folds(self, question: Question, values: Floats, end: Floats) -> list[_Fold]:
        """Leave out whole owners or applications: their jobs, asked as if they came now."""
        if self.owners_ is None:
            return []
        newest = float(end[np.isfinite(end)].max(initial=question.arrival[-1]))
        found = []
        for others, left_out in turns(question.keys[self.owners_], self.random_state):
            now = np.full(len(left_out), np.inf)
            asked = replace(question.rows(left_out, now), arrival=np.full(len(now), newest))
            found.append(self._fold_of(question, values, end, others, left_out, asked))
        return found

    def _judge_folds(
        self, folds: list[_Fold], question: Question, values: Floats, end: Floats
    ) -> None:
        """Weigh experts, calibrate ranges and choose points as of long after the last outcome."""
        strange = self._strange_folds(question, values, end)
        made = self._made_strangers(folds[-1])
        every = [*folds, made, *strange]
        parts = [self._with(one)._earned(one.asked, values[one.rows]) for one in every]
        density, cell = (np.concatenate(both) for both in zip(*parts, strict=True))
        self.weights_.start(density, cell, stale=True)
        told = [self._with(one)._stale_answer(one.asked) for one in every]
        self._calibrate_strangers(strange, told[len(every) - len(strange) :], values)
        judged = []
        for one, (answer, stratum, kinds) in zip(every, told, strict=True):
            if one not in strange:
                late = np.ones(len(one.rows), dtype=np.bool_)
                known = end[one.rows], one.asked.as_of
                self._learn_ranges(answer, values[one.rows], (stratum, kinds), late, *known)
            # jobs that were made strangers have been judged once already
            if answer.points is not None and one is not made:
                judged.append((gains(answer.points, values[one.rows], self.variance_), kinds))
        self.leading_.settle(judged)

    def _judge_fresh(self, fold: _Fold, question: Question, values: Floats, end: Floats) -> None:
        """Do the same with fresh outcomes: jobs of a fold in the order in which they came."""
        self._with(fold)
        fresh = question.rows(fold.rows)
        self.usual_lag_ = 2 * float(np.quantile(fresh.arrival - self._newest(fresh.as_of), 0.99))
        density, cell = self._earned(fresh, values[fold.rows])
        self.weights_.start(density, cell, stale=False)
        if self.owners_ is not None:
            self.weights_.carry_over(_STRANGE)
        self._judge(fresh, values[fold.rows], end[fold.rows], stale=False)

    def _calibrate_strangers(
        self, folds: list[_Fold], told: list[tuple[PointAndRange, Strata, Strata]], values: Floats
    ) -> None:  # fmt: skip
        """Let ranges of strangers be what jobs of owners needed that were left out."""
        if not folds or not isinstance(self.calibrator_, LevelCalibrator) or self.owners_ is None:
            return
        parts = []
        for fold, (answer, _, kind) in zip(folds, told, strict=True):
            strange = kind == STRANGER
            steps = answer.distribution()[strange]
            needed = levels_of(steps, values[fold.rows][strange], self.calibrator_.scale)
            parts.append((*needed, fold.asked.keys[self.owners_][strange]))
        low, high, owner = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.calibrator_.learn_strangers(low, high, owner, self.random_state)

    def _made_strangers(self, fold: _Fold) -> _Fold:
        """Return some jobs of a fold as if of an unknown owner, application or cluster."""
        draw = np.random.default_rng(self.random_state)
        few = min(len(fold.rows), _MOST_STRANGERS)
        some = np.sort(draw.choice(len(fold.rows), few, replace=False))
        seed = self.random_state + 1
        unknown = strangers(fold.asked.rows(some), self.history_.levels, seed, 1.0)
        if self.owners_ is not None:
            # what is like with an unknown owner, those show who are left out
            key = self.owners_
            known = np.flatnonzero(unknown.keys[key] == fold.asked.keys[key][some])
            some, unknown = some[known], unknown.rows(known)
        return replace(fold, rows=fold.rows[some], asked=unknown)

    def _with(self, fold: _Fold) -> Mixture:
        """Use the forests and the memories of a fold."""
        self.forests_, self.history_ = fold.forests, fold.history
        if fold.boosted is not None:
            self.boosted_ = fold.boosted
        return self

    def _learn_ranges(
        self, answer: PointAndRange, values: Floats, strata: tuple[Strata, Strata], late: Bools,
        end: Floats, as_of: Floats,
    ) -> None:  # fmt: skip
        """Let ranges know of outcomes, those of strangers for strangers as well."""
        stratum, kinds = strata
        if isinstance(self.calibrator_, LevelCalibrator):
            start = None
            if self.target_ == "duration_s":
                # one that was cut short counts as longer, but began no sooner than it came
                start = np.maximum(end - np.exp(values), as_of)
            self.calibrator_.learn(answer, values, stratum, late, end, as_of, start)
            self.calibrator_.add_strangers(answer, values, kinds, late, end, as_of)
        else:
            self.calibrator_.learn(answer, values, stratum, late, end)

    def _ranges(
        self, answer: PointAndRange, stratum: Strata, recall: list[Recall], late: Bools,
        as_of: Floats,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Return the ends of the ranges; those of strangers reach as far as strangers needed."""
        low, high = super()._ranges(answer, stratum, recall, late, as_of)
        kinds = self._kinds(stratum, recall)
        if (kinds == STRANGER).any():
            lowest, highest = self.calibrator_.widen(answer, kinds, late, as_of)
            return np.minimum(low, lowest), np.maximum(high, highest)
        return low, high

    def _stale_answer(self, question: Question) -> tuple[PointAndRange, Strata, Strata]:
        recall = self.history_.recall(question)
        late = np.ones(len(question), dtype=np.bool_)
        stratum = strata_of(self.history_.levels, recall)
        return self._told(question, recall, late), stratum, self._kinds(stratum, recall)

    def _kinds(self, stratum: Strata, recall: list[Recall]) -> Strata:
        """Return the strata, jobs of an unknown owner apart unless their like was seen."""
        if self.owners_ is None:
            return stratum
        unknown = (recall[self.owners_].count == 0) & (stratum != "seen")
        return np.where(unknown, STRANGER, stratum)

    def _earned(self, question: Question, values: Floats) -> tuple[Floats, Ints]:
        """Return how likely each expert made the outcomes, and how familiar the jobs were."""
        recall = self.history_.recall(question)
        density = np.empty((len(values), len(self.weights_.names)))
        for first in range(0, len(values), _BATCH):
            rows = np.arange(first, min(first + _BATCH, len(values)))
            part = [memory.rows(rows) for memory in recall]
            every = np.arange(len(rows))
            for place, expert in enumerate(self._experts(question.rows(rows), part).values()):
                outcomes = expert(every, _COMPARED)
                density[rows, place] = densities(outcomes, values[rows], self.variance_)
        return density, self._cells(recall)

    def _judge(
        self, question: Question, values: Floats, end: Floats, stale: bool | None = None
    ) -> None:
        """Let outcomes move the weights, the choice of the point and the ranges."""
        if not hasattr(self, "forests_"):
            return
        recall = self.history_.recall(question)
        late = self._is_stale(question) if stale is None else np.full(len(values), stale)
        density, cell = self._earned(question, values)
        for regime in (False, True):
            chosen = late == regime
            self.weights_.add(density[chosen], cell[chosen], end[chosen], stale=regime)
        answer = self._told(question, recall, late)
        stratum = strata_of(self.history_.levels, recall)
        kinds = self._kinds(stratum, recall)
        self._learn_ranges(answer, values, (stratum, kinds), late, end, question.as_of)
        if answer.points is not None:
            gain = gains(answer.points, values, self.variance_)
            self.leading_.add(gain[~late], kinds[~late], end[~late])

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        if not hasattr(self, "forests_"):
            return PointAndRange.of_point(np.full(len(question), np.nan))
        return self._told(question, recall, self._is_stale(question), every=False)

    def _told(
        self, question: Question, recall: list[Recall], late: Bools, *, every: bool = True
    ) -> PointAndRange:
        """Return the distribution of each job, the numbers it offers and the one that leads.

        Unless ``every`` number is to be judged, those that do not lead are left out.
        """
        steps = np.empty((len(question), _STEPS))
        cell = self._cells(recall)
        for regime in (False, True):
            rows = np.flatnonzero(late == regime)
            if len(rows):
                weights, which = self.weights_.at(cell[rows], question.as_of[rows], stale=regime)
                for first in range(0, len(rows), _BATCH):
                    part = slice(first, first + _BATCH)
                    asked, known = question, recall
                    if len(rows[part]) < len(question):
                        asked = question.rows(rows[part])
                        known = [memory.rows(rows[part]) for memory in recall]
                    steps[rows[part]] = self._pooled(asked, known, weights, which[part])
        low, high = steps[:, _LOW], steps[:, _HIGH]
        if self.yes_no_:
            return PointAndRange(steps.mean(axis=1), low, high, steps)
        longest = self.bounds_.longest(question.limit_s)[:, None]
        steps = np.minimum(steps, longest)
        stratum = strata_of(self.history_.levels, recall)
        kinds = self._kinds(stratum, recall)
        lead = np.zeros(len(question), dtype=np.int64)
        for regime in (False, True):
            rows = np.flatnonzero(late == regime)
            lead[rows] = self.leading_.leaders(kinds[rows], question.as_of[rows], stale=regime)
        simple = self._simple(question, recall, stratum)
        points = self._points(simple, recall, steps, None if every else lead)
        points = np.minimum(points, longest)
        return PointAndRange(
            points[np.arange(len(lead)), lead], low, high, steps, points if every else None
        )

    def _simple(
        self, question: Question, recall: list[Recall], stratum: NDArray[np.str_]
    ) -> Floats:  # fmt: skip
        """Return the back-off median; of a job of no known kind, what its words say if they can."""
        simple = self.history_.backed_off(question, recall)
        rows, words = self._strangers(question, recall, stratum)
        if words is None:
            return simple
        return _replaced(simple, rows, words.mean)

    def _strangers(
        self, question: Question, recall: list[Recall], stratum: NDArray[np.str_]
    ) -> tuple[Ints, WordRecall | None]:
        """Return the jobs of no known kind whose words tell more than their keys, and what they do.

        Only their words are looked up: most jobs are of a known kind.
        """
        place, _ = finest(recall)
        owned = np.array([not _OWNERS.isdisjoint(one.columns) for one in self.history_.levels])
        # what the same user did counts more than what others did with the same words
        rows = np.flatnonzero((stratum != "seen") & ~owned[place])
        asked = question.rows(rows)
        words = self._words(asked) if len(rows) else None
        if words is None:
            return rows[:0], None
        words = words.sharper_of(self.history_.recall_meanings(asked, self.variance_))
        sharper = words.sharper_than([part.rows(rows) for part in recall], self.variance_)
        return rows[sharper], words.rows(sharper)

    def _why(self, question: Question, recall: list[Recall], match: Match) -> Array:
        if not hasattr(self, "forests_"):
            return match.reason
        rows, words = self._strangers(question, recall, match.stratum)
        if words is None:
            return match.reason
        where = listed([spoken_column(name) for name in self.history_.text.names])
        told = [
            "no past job matches all fields; based on "
            f"{counted(int(count), 'job')} with {_ALIKE[bool(near)]} in {where}"
            for count, near in zip(words.count, words.near, strict=True)
        ]
        return _replaced(match.reason, rows, told)

    def _points(
        self, simple: Floats, recall: list[Recall], steps: Floats, lead: Ints | None
    ) -> Floats:  # fmt: skip
        """Return the numbers that could be told, the one that needs no learning first.

        Of run times the others are the most useful of three and the median of the latest jobs, of
        what jobs use the simple one where enough of the distribution lies around it, and the
        distribution's own.
        """
        if self.target_ == "duration_s":
            points = np.column_stack([simple, simple, simple])
            if lead is None or (lead == _LATELY).any():
                lately = recent_backoff(recall, RECENT)
                points[:, _LATELY] = np.where(np.isnan(lately), simple, lately)
            rows = np.arange(len(simple)) if lead is None else np.flatnonzero(lead == TRUSTED)
            few = steps[rows][:, ::2]
            own = best_points(few, self.variance_, FACTOR_TWO, EXACT_TOO)
            offered = np.column_stack([simple[rows], own])
            points[rows, TRUSTED] = most_useful(offered, few, self.variance_)
            return points
        around = np.abs(steps - simple[:, None]) <= FACTOR_TWO[0] + 1e-9
        doubted = around.mean(axis=1) < _AROUND
        own = np.full(len(simple), np.nan)
        rows = np.flatnonzero(doubted | (lead == _OWN if lead is not None else True))
        own[rows] = best_points(steps[rows], self.variance_, NEARLY_EXACT)[:, 0]
        return np.column_stack([simple, np.where(doubted, own, simple), own])

    def _pooled(
        self, question: Question, recall: list[Recall], weights: Floats, which: Ints
    ) -> Floats:
        """Return the pooled distribution of each job, with the weights that are its own."""
        experts = self._experts(question, recall)
        steps = np.empty((len(question), _STEPS))
        for one in np.unique(which).tolist():
            rows = np.flatnonzero(which == one)
            steps[rows] = pooled(
                {name: of_rows(expert, rows) for name, expert in experts.items()},
                dict(zip(experts, weights[one].tolist(), strict=True)),
            )[:, _PLACES]
        return steps

    def _cells(self, recall: list[Recall]) -> Ints:
        """Return whose weights each job gets: by how familiar it is, and apart if a stranger."""
        cell = familiarity(recall)
        if self.owners_ is None:
            return cell
        strange = self._kinds(strata_of(self.history_.levels, recall), recall) == STRANGER
        return np.where(strange, _STRANGE, cell)

    def _bears(self, name: str, question: Question) -> bool:
        """Say whether an expert has anything to say of the target."""
        if name == "boosted":
            return self.yes_no_
        if name == "from_limit":
            return self.target_ == "duration_s" and bool(np.isfinite(question.limit_s).any())
        if name in ("words", "from_words"):
            return bool(self.history_.text.names)
        if name == "meaning":
            return self.history_.meanings is not None
        # which of the last few were true is mostly chance
        return not (self.yes_no_ and name in ("from_recent", "key_lately", "all_lately"))

    def _words(self, question: Question) -> WordRecall | None:
        return self.history_.recall_words(question, self.variance_)

    def _experts(self, question: Question, recall: list[Recall]) -> dict[str, Expert]:
        """Return what each forest and each memory has to say, made when asked for."""
        words = self._words(question)
        seen = features(question, recall, words)
        # boosted trees are asked through XGBoost in any case
        data = matrix(seen) if self.yes_no_ else rows_for_forests(seen)
        from_ = bases(question, recall, words)
        found = of_forests(self.forests_, data, from_, question, self.floor_)
        if self.yes_no_:
            found["boosted"] = of_outcomes(self.boosted_.outcomes(data, POOLED))
        levels = (self.history_.level_of(word) for word in ("user", "group"))
        owner = next((level for level in levels if level is not None), None)
        meaning = self.history_.recall_meanings(question, self.variance_)
        found |= of_memories(recall, owner, {"words": words, "meaning": meaning})
        return {name: found[name] for name in self.weights_.names}


def _replaced(values: Array, rows: Ints, others: Sequence[object] | Floats) -> Array:
    """Return a copy with other values in some rows."""
    made = values.copy()
    made[rows] = others
    return made
