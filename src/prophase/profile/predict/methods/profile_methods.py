"""PolarisProfiler: jobs are grouped by use, the group of a new job is predicted from metadata.

The answer is a number that stands for the group: the paper takes the mean, its successor
(arXiv 2504.20740) other statistics, one file each beside this one. The groups are those of
the paper: HDBSCAN on its 17 metrics, start, end and duration among them; the classifier is
its XGBoost on one-hot metadata. A finished job joins the group that its use fits and counts
in the next answer, without a refit; groups and classifier stay until ``fit``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal, Self

import numpy as np
import pandas as pd

from prophase.array_types import Array, Floats, Ints
from prophase.errors import MissingColumnError
from prophase.profile.classify.metadata_words import Words, choose_columns, words_of
from prophase.profile.classify.methods.boosted_trees import OneHotBoosted
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.methods.usage_groups import (
    ProfileValues,
    UsageGroups,
    learn_groups,
    usage_columns,
    usage_values,
)
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submit_columns import ends

#: jobs the classifier learns from; more cost time and change little
_MOST_LESSONS = 10_000
#: a job about which nothing at all is known has no column either
_NO_COLUMNS = ("user",)


class ProfilePredictor(Predictor):
    """Answer with a statistic of the profile that metadata assigns a job to.

    Attributes
    ----------
    notes_ : tuple of str
        What a reader of the answers has to know, such as that only a sample was clustered.
    """

    _moved_by_updates: ClassVar[tuple[str, ...]] = ("calibrator_", "_values")
    _reads_tables: ClassVar[bool] = True

    def fit(self, history: pd.DataFrame, target: str = "duration_s") -> Self:
        """Group finished jobs by their use and learn to predict the groups from metadata."""
        self._fitting = True
        self._usage: Floats = np.empty(0)
        self._ends: Floats = np.empty(0)
        self._raw: Floats = np.empty(0)
        self._groups: UsageGroups | None = None
        self._running: list[tuple[pd.DataFrame, Floats]] = []
        super().fit(history, target)
        for running, needed in self._running:
            # their use is not known yet, so metadata says where they belong
            self._add_running(running, needed)
        # from now on a finished job is assigned when it comes
        self._fitting = False
        self._usage = self._ends = self._raw = np.empty(0)
        self._running = []
        return self

    def predict(
        self,
        jobs: pd.DataFrame,
        as_of: Floats | Literal["submit"] | None = None,
        *,
        ordered: bool = False,
    ) -> pd.DataFrame:
        """Return the answers of :meth:`Predictor.predict`; the reason names the profile."""
        found = super().predict(jobs, as_of, ordered=ordered)
        if self._groups is None:
            return found
        profiles, probability = self.profiles_of(jobs)
        rows = zip(profiles.tolist(), probability.tolist(), found["reason"], strict=True)
        named = [f"profile {number} ({share:.0%}); {why}" for number, share, why in rows]
        silent = found["abstained"].to_numpy(dtype=bool)
        found["reason"] = np.where(silent, found["reason"], np.array(named, dtype=object))
        return found

    def profiles_of(self, jobs: pd.DataFrame) -> tuple[Ints, Floats]:
        """Return the most probable profile of each job by its metadata, and how probable."""
        self._need_fit()
        return self._classify(words_of(jobs, self._columns))

    @abstractmethod
    def _summary(self, values: Floats) -> float:
        """Return the number that stands for the values of a profile."""

    def _remember(self, finished: pd.DataFrame, end: Floats, values: Floats) -> None:
        raw = np.exp(values)
        if self._fitting:
            self._usage_columns, self._usage_notes = usage_columns(finished)
            self._usage = usage_values(finished, self._usage_columns)
            self._ends, self._raw = end, raw
        elif self._groups is not None:
            labels = self._groups.labels(usage_values(finished, self._usage_columns))
            self._values.add(labels, end, raw)

    def _remember_running(self, running: pd.DataFrame, needed: Floats) -> None:
        self._running = [(running, np.exp(needed))]

    def _add_running(self, running: pd.DataFrame, needed: Floats) -> None:
        if self._groups is not None:
            self._values.add(self.profiles_of(running)[0], ends(running), needed)

    def _learn(self, question: Question, values: Floats) -> None:
        rows = question.places
        self._values = ProfileValues()
        self._groups, self._silent = learn_groups(self._usage[rows], self.random_state)
        self.notes_: tuple[str, ...] = self._usage_notes
        if self._groups is None:
            return
        self.notes_ += self._groups.notes
        # what ends after a question's moment stays hidden from it
        labels = self._groups.labels(self._usage)
        self._values.add(labels, self._ends, self._raw)
        self._learn_classifier(question.table, rows, labels)

    def _learn_classifier(self, table: pd.DataFrame, rows: Array, labels: Ints) -> None:
        inside = rows[labels[rows] >= 0]
        if len(inside) > _MOST_LESSONS:
            draw = np.random.default_rng(self.random_state)
            inside = np.sort(draw.choice(inside, _MOST_LESSONS, replace=False))
        try:
            self._columns, _ = choose_columns(table)
        except MissingColumnError:
            self._columns = _NO_COLUMNS
            self.notes_ += ("The jobs have no metadata: each gets the most frequent profile.",)
        self._numbers, codes = np.unique(labels[inside], return_inverse=True)
        words = words_of(table.iloc[inside], self._columns)
        self._classifier = OneHotBoosted(random_state=self.random_state)
        self._classifier.learn(words, codes.astype(np.int64), len(self._numbers))

    def _classify(self, words: Words) -> tuple[Ints, Floats]:
        found = self._classifier.probabilities(words)
        best = found.argmax(axis=1)
        return self._numbers[best], found[np.arange(len(best)), best]

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        if self._groups is None:
            return PointAndRange.of_point(np.full(len(question), np.nan))
        words = words_of(question.table.iloc[question.places], self._columns)
        profiles, _ = self._classify(words)
        point, low, high = (
            np.log(np.maximum(self._values.ask(profiles, question.as_of, part), self.floor_))
            for part in (self._summary, _low, _high)
        )
        return PointAndRange(point, np.minimum(low, point), np.maximum(high, point))

    def _why_silent(self) -> str:
        return self._silent or "no job of its profile had finished yet"


def _low(values: Floats) -> float:
    return float(np.quantile(values, 0.05))


def _high(values: Floats) -> float:
    return float(np.quantile(values, 0.95))


class ProfileMean(ProfilePredictor):
    """Answer with the mean over the finished jobs of the profile."""

    name = "profile-mean"

    def _summary(self, values: Floats) -> float:
        return float(values.mean())


class ProfileMedian(ProfilePredictor):
    """Answer with the median over the finished jobs of the profile."""

    name = "profile-median"

    def _summary(self, values: Floats) -> float:
        return float(np.median(values))


# The 5 % quantile of the profile, the successor's default.
#
# It keeps relative errors below 100 % by guessing short, so read it together with
# ``signed_log_error`` and ``within_x2_pct``.


class ProfileQ05(ProfilePredictor):
    """Answer with the value that 5 % of the finished jobs of the profile stay under."""

    name = "profile-q05"

    def _summary(self, values: Floats) -> float:
        return float(np.quantile(values, 0.05))


class ProfileInterquartileMean(ProfilePredictor):
    """Answer with the mean over the finished jobs between the quartiles of the profile."""

    name = "profile-interquartile-mean"

    def _summary(self, values: Floats) -> float:
        low, high = np.quantile(values, [0.25, 0.75])
        middle = values[(values >= low) & (values <= high)]
        # of two values the quartiles lie between them
        return float(middle.mean()) if len(middle) else float(values.mean())


# The interquartile range of the profile, as the successor's program takes it for an estimate.
#
# The distance between the quartiles says how wide a profile is, not where it lies; it is here
# because the successor's program (arXiv 2504.20740, estimator ``iqr``) answers with it.
# ``profile-interquartile-mean`` is what one would expect under that name.


class ProfileIqr(ProfilePredictor):
    """Answer with the upper less the lower quartile of the profile."""

    name = "profile-iqr"

    def _summary(self, values: Floats) -> float:
        low, high = np.quantile(values, [0.25, 0.75])
        return float(high - low)


# The successor's skew-adaptive estimate: a quantile chosen by the shape of the profile.
#
# As the program published with arXiv 2504.20740 has it: the moment coefficient of skewness of
# the profile's values decides. Below zero, a tail to the left, the median; otherwise, a tail to
# the right or none, the 5 % quantile. Durations nearly always have a tail to the right, so it
# mostly answers as ``profile-q05``.


class ProfileSkewAdaptive(ProfilePredictor):
    """Answer with the median of a left-skewed profile, and the 5 % quantile of any other."""

    name = "profile-skew-adaptive"

    def _summary(self, values: Floats) -> float:
        # the sign is all that counts, so there is no need to divide by the spread
        third_moment = float(((values - values.mean()) ** 3).mean())
        return float(np.quantile(values, 0.5 if third_moment < 0 else 0.05))
