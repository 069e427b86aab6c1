"""Recommenders of Kubernetes: Robusta's KRR, and the vertical pod autoscaler as it really works."""

from __future__ import annotations

import math

from prophase.sizing.baselines.seen_peaks import MaximumSeen
from prophase.sizing.sizer import Features, OnlineSizer, known_number, request_or_plenty

#: 100 MB, as KRR has it
_KRR_FLOOR_GIB = 100e6 / 2**30


class KrrRule(MaximumSeen):
    """Ask for the highest peak so far and 15 % more, as KRR's simple strategy does."""

    margin = 1.15

    def predict(self, task: str, features: Features) -> float:
        return max(super().predict(task, features), _KRR_FLOOR_GIB)


# The Kubernetes vertical pod autoscaler's recommender, as it really works.
#
# Peaks go into a histogram whose buckets grow by 5 %, each with a weight that halves every
# 24 hours. The target is the 90th percentile, read at the upper end of its bucket, and 15 %
# more, at least 250 MiB. An out-of-memory kill counts as a peak 20 %, at least 100 MiB, above.


_FIRST_BUCKET_GIB, _RATIO = 1e7 / 2**30, 1.05
_HALF_LIFE_S = 24 * 3600.0
_TARGET, _MARGIN, _FLOOR_GIB = 0.9, 1.15, 250 / 1024
_BUMP, _LEAST_BUMP_GIB = 1.2, 100 / 1024
#: weights grow with time instead of fading; beyond this many half-lives the clock restarts
_MOST_HALF_LIVES = 100.0


class KubernetesVpa(OnlineSizer):
    """Ask for the 90th percentile of a fading histogram and 15 % more."""

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        self.share = _TARGET if risk is None else 1.0 - risk
        self.histograms_: dict[str, dict[int, float]] = {}
        self._began_s: dict[str, float] = {}

    def predict(self, task: str, features: Features) -> float:
        histogram = self.histograms_.get(task)
        if not histogram:
            return request_or_plenty(features)
        wanted = self.share * sum(histogram.values())
        bucket, so_far = 0, 0.0
        for bucket in sorted(histogram):
            so_far += histogram[bucket]
            if so_far >= wanted:
                break
        return max(_MARGIN * _end_of(bucket), _FLOOR_GIB)

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        now_s = known_number(features, "submit_s") or 0.0
        histogram = self.histograms_.setdefault(task, {})
        age = (now_s - self._began_s.setdefault(task, now_s)) / _HALF_LIFE_S
        if age > _MOST_HALF_LIVES:
            self._began_s[task], age = now_s, 0.0
            histogram = self.histograms_[task] = {}
        peak = _bumped(peak_gib) if failed else peak_gib
        bucket = _bucket_of(peak)
        histogram[bucket] = histogram.get(bucket, 0.0) + 2.0**age

    def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
        return _bumped(last_gib)


def _bumped(gib: float) -> float:
    return max(_BUMP * gib, gib + _LEAST_BUMP_GIB)


def _bucket_of(gib: float) -> int:
    """Return the bucket of an amount: bucket n ends at first x (1.05^(n+1) - 1) / 0.05."""
    reached = 1.0 + gib * (_RATIO - 1.0) / _FIRST_BUCKET_GIB
    return max(0, math.ceil(math.log(reached) / math.log(_RATIO) - 1e-9) - 1)


def _end_of(bucket: int) -> float:
    end: float = _FIRST_BUCKET_GIB * (_RATIO ** (bucket + 1) - 1.0) / (_RATIO - 1.0)
    return end
