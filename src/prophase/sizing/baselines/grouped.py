"""A percentile per group of tasks, whatever made the groups: profiles, phases, users."""

from __future__ import annotations

from prophase.sizing.baselines.seen import PercentileSeen
from prophase.sizing.sizer import Features, OnlineSizer


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
