"""A sizer that asks for one and a half times what the task used last.

A sizer derives from ``OnlineSizer``: ``predict`` before a run, ``observe`` after it, and
``retry`` after a kill, which doubles unless it is overridden.
"""

from __future__ import annotations

from prophase.sizing import Features, OnlineSizer
from prophase.sizing.sizer import request_or_plenty

_MARGIN = 1.5


class LastAndHalf(OnlineSizer):
    """Ask for the last peak and half of it; for the request until there is one."""

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        self.last_gib: dict[str, float] = {}

    def predict(self, task: str, features: Features) -> float:
        """Return the first request, in GiB."""
        last = self.last_gib.get(task)
        return request_or_plenty(features) if last is None else _MARGIN * last

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        """Remember the peak; after a kill at least the request it was killed at."""
        self.last_gib[task] = max(peak_gib, self.last_gib.get(task, 0.0)) if failed else peak_gib
