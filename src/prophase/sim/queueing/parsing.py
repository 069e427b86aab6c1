"""Service targets, rates and classes of jobs as people write them: ``P(wait > 60 s) < 5%``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from prophase import units
from prophase.errors import ParameterError, not_among
from prophase.sim.queueing.mmc import LossAnswer
from prophase.sim.queueing.priorities import JobClass
from prophase.sim.queueing.queue_answer import QueueAnswer

_FORMS = (
    "P(wait > 60 s) < 5%, mean wait < 30 s, p95 wait < 15 min, utilisation < 80%, blocking < 1%"
)
_TAIL = re.compile(r"p\s*\(\s*wait\s*>\s*(?P<time>[^)]+?)\s*\)\s*<=?\s*(?P<share>.+)")
_MEAN = re.compile(r"mean\s+wait\s*<=?\s*(?P<time>.+)")
_QUANTILE = re.compile(r"p(?P<percent>\d+(?:\.\d+)?)\s+wait\s*<=?\s*(?P<time>.+)")
_SHARE = re.compile(r"(?P<what>utili[sz]ation|blocking)\s*<=?\s*(?P<share>.+)")


@dataclass(frozen=True)
class ServiceTarget:
    """What an answer has to stay below."""

    kind: Literal["tail", "mean", "quantile", "utilisation", "blocking"]
    limit: float
    #: seconds for a tail, share of jobs for a quantile
    at: float = 0.0

    def value(self, answer: QueueAnswer | LossAnswer) -> float:
        """Return the number of the answer that the target limits."""
        if self.kind == "utilisation":
            return answer.utilisation
        if isinstance(answer, LossAnswer):
            if self.kind == "blocking":
                return answer.blocked_share
            if self.kind == "mean":
                return answer.wait_mean_s
            raise ParameterError(
                f"{answer.model} gives no {self.words()}. Use a target such as blocking < 1%."
            )
        if self.kind == "blocking":
            raise ParameterError(
                f"{answer.model} turns nobody away. Use a wait target, or the model loss."
            )
        if self.kind == "tail":
            return answer.wait_exceeds(self.at)
        return answer.wait_mean_s if self.kind == "mean" else answer.wait_quantile_s(self.at)

    def met_by(self, answer: QueueAnswer | LossAnswer) -> bool:
        """Tell whether an answer stays below the limit."""
        return self.value(answer) < self.limit

    def words(self) -> str:
        """Return the target as a person would write it."""
        share, time = units.percent(self.limit), units.duration(self.limit)
        return {
            "tail": f"P(wait > {units.duration(self.at)}) < {share}",
            "mean": f"mean wait < {time}",
            "quantile": f"p{100 * self.at:g} wait < {time}",
            "utilisation": f"utilisation < {share}",
            "blocking": f"blocking < {share}",
        }[self.kind]


def parse_service_target(text: str) -> ServiceTarget:
    """Read a service target.

    Examples
    --------
    >>> parse_service_target("P(wait > 60 s) < 5%")
    ServiceTarget(kind='tail', limit=0.05, at=60.0)
    >>> parse_service_target("p95 wait < 15 min")
    ServiceTarget(kind='quantile', limit=900.0, at=0.95)
    """
    plain = text.strip().lower()
    if match := _TAIL.fullmatch(plain):
        return _limited(text, ServiceTarget("tail", _share(match["share"]), _time(match["time"])))
    if match := _MEAN.fullmatch(plain):
        return _limited(text, ServiceTarget("mean", _time(match["time"])))
    if match := _QUANTILE.fullmatch(plain):
        at = float(match["percent"]) / 100
        if not 0 < at < 1:
            raise ParameterError(f"target {text!r}: p{match['percent']} is no quantile.")
        return _limited(text, ServiceTarget("quantile", _time(match["time"]), at))
    if match := _SHARE.fullmatch(plain):
        kind: Literal["utilisation", "blocking"] = (
            "blocking" if match["what"] == "blocking" else "utilisation"
        )
        return _limited(text, ServiceTarget(kind, _share(match["share"])))
    raise ParameterError(f"target {text!r} is not understood. Write one of: {_FORMS}.")


def _limited(text: str, target: ServiceTarget) -> ServiceTarget:
    if target.limit <= 0:
        raise ParameterError(f"target {text!r}: nothing stays below 0. Raise the limit.")
    return target


def _time(text: str) -> float:
    return units.parse_duration(text.strip(), bare="s", where="target")


def _share(text: str) -> float:
    return units.parse_share(text.strip(), where="target")


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
    span = units.parse_duration(unit if unit[:1].isdigit() else f"1{unit}", bare="s", where=name)
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
        units.parse_duration(given["service"], bare="s", where="--class service"),
        _number(given.get("scv", "1"), "scv"),
        int(_number(given.get("need", "1"), "need")),
    )


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as cause:
        raise ParameterError(f"--class {name} is {text!r}, which is not a number.") from cause
