"""The simplest sizers: the user's request, a little more than was seen, a percentile per group."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict

from prophase.sizing.sizer import Features, OnlineSizer, request_or_plenty


class UserRequest(OnlineSizer):
    """Ask for what the user asks for."""

    def predict(self, task: str, features: Features) -> float:
        return request_or_plenty(features)

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        """Learn nothing: the request is the same every time."""


#: the widest-spread habit: the 95th percentile and a quarter more
PERCENTILE, PERCENTILE_MARGIN = 0.95, 1.25


class MaximumSeen(OnlineSizer):
    """Ask for the highest peak of the task so far and a tenth more."""

    margin = 1.1

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        self.highest_: dict[str, float] = {}

    def predict(self, task: str, features: Features) -> float:
        if task not in self.highest_:
            return request_or_plenty(features)
        return round(self.margin * self.highest_[task], 12)

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        self.highest_[task] = max(self.highest_.get(task, 0.0), peak_gib)


class PercentileSeen(OnlineSizer):
    """Ask for a percentile of the task's peaks so far and a quarter more.

    With a risk the percentile is what leaves that share above it.
    """

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        self.share = PERCENTILE if risk is None else 1.0 - risk
        self.peaks_: defaultdict[str, list[float]] = defaultdict(list)

    def predict(self, task: str, features: Features) -> float:
        peaks = self.peaks_.get(task)
        if not peaks:
            return request_or_plenty(features)
        return PERCENTILE_MARGIN * peaks[min(int(self.share * len(peaks)), len(peaks) - 1)]

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        insort(self.peaks_[task], peak_gib)


class PerGroup(OnlineSizer):
    """Size tasks by the group they belong to, named by one feature.

    A task without that feature is its own group.
    """

    feature = "group"

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        self.sizer_ = PercentileSeen(risk)

    def predict(self, task: str, features: Features) -> float:
        return self.sizer_.predict(self._group(task, features), features)

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        self.sizer_.observe(self._group(task, features), features, peak_gib, runtime_h, failed)

    def _group(self, task: str, features: Features) -> str:
        named = features.get(self.feature)
        return task if named is None or named != named else f"{self.feature}={named}"


class PerProfile(PerGroup):
    """Ask for a percentile of the jobs of the same profile and a quarter more."""

    feature = "profile"


class PerPhase(PerGroup):
    """Ask for a percentile of the jobs in the same phase and a quarter more."""

    feature = "phase"
