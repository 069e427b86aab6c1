"""Rates and classes of jobs as people write them."""

from __future__ import annotations

import re

from prophase.errors import ParameterError, not_among
from prophase.sim.queueing.priorities import JobClass
from prophase.trace.describe.words import parse_seconds

_RATE = re.compile(r"\s*(?P<count>\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)\s*/\s*(?P<time>.+)")
_KEYS = ("name", "arrivals", "service", "scv", "need")


def parse_rate(text: str, *, name: str) -> float:
    """Read ``'45/s'``, ``'100/h'`` or ``'2/10min'`` as arrivals per second.

    Examples
    --------
    >>> parse_rate("45/s", name="--arrivals"), parse_rate("3/10min", name="--arrivals")
    (45.0, 0.005)
    """
    match = _RATE.fullmatch(text.lower())
    if match is None:
        raise ParameterError(
            f"{name} is {text!r}. Pass a rate such as 45/s, 100/h or 2/10min: jobs per time."
        )
    unit = match["time"].strip()
    span = parse_seconds(unit if unit[:1].isdigit() else f"1{unit}", name=name)
    if span <= 0:
        raise ParameterError(f"{name} is {text!r}: the time must be above 0.")
    return float(match["count"]) / span


def parse_class(text: str) -> JobClass:
    """Read ``'name=urgent,arrivals=2/h,service=30min,scv=1,need=4'`` as a class of jobs.

    Examples
    --------
    >>> parse_class("name=urgent,arrivals=2/h,service=30min").offered_load
    1.0
    """
    given = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or key not in _KEYS:
            raise ParameterError(
                not_among(
                    f"--class {text!r}: {pair.strip()!r} is not understood. Write "
                    "name=urgent,arrivals=2/h,service=30min,scv=1,need=1.",
                    key,
                    _KEYS,
                )
            )
        given[key] = value.strip()
    for key in ("arrivals", "service"):
        if key not in given:
            raise ParameterError(f"--class {text!r}: {key} is missing.")
    return JobClass(
        given.get("name", text),
        parse_rate(given["arrivals"], name="--class arrivals"),
        parse_seconds(given["service"], name="--class service"),
        _number(given.get("scv", "1"), "scv"),
        int(_number(given.get("need", "1"), "need")),
    )


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as cause:
        raise ParameterError(f"--class {name} is {text!r}, which is not a number.") from cause
