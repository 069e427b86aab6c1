"""What every sizer is: it says what to ask for, and learns from what was used.

Online, a sizer meets one task at a time: ``predict`` before the run, ``retry`` after each
kill, ``observe`` when the outcome is known. :class:`Sizer` drives any of them over tables.
Amounts are GiB; a sizer for another resource reads and returns the amounts of that one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from zlib import crc32

from prophase.json_types import JsonMapping
from prophase.lazy_imports import optional

#: what is known of a task: ``workflow``, ``tag``, ``cpus``, ``request_gib``, ``time_limit_h``,
#: ``submit_s``, perhaps ``input_gib`` and others; after the run also ``post``
Features = JsonMapping

#: what a task without a request and without history is given
NOTHING_KNOWN_GIB = 4.0
#: how much more each further attempt gets where nothing better is known
GROWTH = 2.0


@dataclass(frozen=True)
class Outcome:
    """One finished attempt: what was known before it, and what it used."""

    task: str
    features: Features
    #: highest use; if the attempt was killed, the request it was killed at
    peak_gib: float
    runtime_h: float
    failed: bool = False


class OnlineSizer(ABC):
    """Says what each task should ask for, and learns from every run.

    Parameters
    ----------
    risk : float, optional
        Share of tasks that may be killed for lack of memory, such as 0.01. Without it a
        sizer does what it was made for; one that knows no risk leaves it aside.
    """

    def __init__(self, risk: float | None = None) -> None:
        self.risk = risk

    @abstractmethod
    def predict(self, task: str, features: Features) -> float:
        """Return the first request, in GiB."""

    @abstractmethod
    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        """Learn from a finished attempt; of a failed one only "more than ``peak_gib``" is known."""

    def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
        """Return the request of attempt number ``attempt`` after a kill at ``last_gib``."""
        return GROWTH * last_gib

    def learn(self, outcomes: Iterable[Outcome]) -> None:
        """Learn from a whole history, in its order; a sizer that learns at once overrides this."""
        for one in outcomes:
            self.observe(one.task, one.features, one.peak_gib, one.runtime_h, one.failed)


def known_number(features: Features, name: str) -> float | None:
    """Return a feature as a finite number, or None if it is absent, broken or negative.

    Examples
    --------
    >>> known_number({"cpus": "4"}, "cpus"), known_number({"cpus": float("nan")}, "cpus")
    (4.0, None)
    """
    value = features.get(name)
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def request_of(features: Features) -> float | None:
    """Return what the user asks for, in GiB; None if nothing is asked for."""
    request = known_number(features, "request_gib")
    return request or None


#: features that name the version of a task's code
CODE = ("code", "version", "container")


def code_of(features: Features) -> str | None:
    """Return which version of its code a task runs, if that is known; a new one starts afresh.

    Examples
    --------
    >>> code_of({"container": "sha256:1f"}), code_of({"cpus": 4})
    ('container=sha256:1f', None)
    """
    return next((f"{name}={features[name]}" for name in CODE if features.get(name)), None)


def code_number(features: Features) -> float:
    """Return a number for the version of its code that a job names; NaN if it names none.

    Examples
    --------
    >>> code_number({"container": "fit:1"}) == code_number({"container": "fit:2"})
    False
    """
    code = code_of(features)
    return math.nan if code is None else number_of_code(code)


def number_of_code(code: str) -> float:
    """Return the number of a version, written as :func:`code_of` does."""
    return float(crc32(code.encode()))


def request_or_plenty(features: Features) -> float:
    """Return what a task gets of which nothing is known: its request, else a usual amount."""
    return request_of(features) or NOTHING_KNOWN_GIB


#: scikit-learn, XGBoost, Optuna or imbalanced-learn by the name of a module
library = partial(optional, what="this way of sizing", extra="learn")
