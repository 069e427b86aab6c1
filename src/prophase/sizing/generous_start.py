"""A careful beginning for any sizer: a task keeps its request until enough of its runs ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from prophase.errors import ParameterError
from prophase.sizing.sizer import Features, OnlineSizer, Outcome, request_or_plenty


class GenerousStart(OnlineSizer):
    """Ask for what the user asks for until a task has run so often; then let the sizer decide.

    Parameters
    ----------
    sizer : OnlineSizer
        Learns from the first run on.
    runs : int
        Successful runs that have to be known.

    Examples
    --------
    >>> from prophase.sizing.registry import make_online_sizer
    >>> sizer = GenerousStart(make_online_sizer("maximum"), runs=2)
    >>> told = {"request_gib": 16.0}
    >>> for peak in (2.0, 3.0):
    ...     print(sizer.predict("a", told))
    ...     sizer.observe("a", told, peak, 1.0, failed=False)
    16.0
    16.0
    >>> sizer.predict("a", told) < 16
    True
    """

    def __init__(self, sizer: OnlineSizer, runs: int) -> None:
        super().__init__(sizer.risk)
        if runs < 0:
            raise ParameterError(f"a task cannot have run {runs} times; give 0 or more.")
        self.sizer, self.runs = sizer, runs
        self.seen: Counter[str] = Counter()

    def predict(self, task: str, features: Features) -> float:
        if self.seen[task] < self.runs:
            return request_or_plenty(features)
        return self.sizer.predict(task, features)

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        self.seen[task] += not failed
        self.sizer.observe(task, features, peak_gib, runtime_h, failed)

    def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
        return self.sizer.retry(task, features, attempt, last_gib)

    def learn(self, outcomes: Iterable[Outcome]) -> None:
        held = list(outcomes)
        self.seen.update(one.task for one in held if not one.failed)
        self.sizer.learn(held)
