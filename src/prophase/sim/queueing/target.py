"""Service targets as people write them: ``P(wait > 60 s) < 5%``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from prophase.errors import ParameterError
from prophase.sim.queueing.mmc import LossAnswer
from prophase.sim.queueing.result import QueueAnswer
from prophase.trace.describe.words import parse_seconds, say_seconds
from prophase.trace.units import parse_share

_FORMS = (
    "P(wait > 60 s) < 5%, mean wait < 30 s, p95 wait < 15 min, utilisation < 80%, blocking < 1%"
)
_TAIL = re.compile(r"p\s*\(\s*wait\s*>\s*(?P<time>[^)]+?)\s*\)\s*<=?\s*(?P<share>.+)")
_MEAN = re.compile(r"mean\s+wait\s*<=?\s*(?P<time>.+)")
_QUANTILE = re.compile(r"p(?P<percent>\d+(?:\.\d+)?)\s+wait\s*<=?\s*(?P<time>.+)")
_SHARE = re.compile(r"(?P<what>utili[sz]ation|blocking)\s*<=?\s*(?P<share>.+)")


@dataclass(frozen=True)
class Target:
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
        share, time = f"{100 * self.limit:g} %", say_seconds(self.limit)
        return {
            "tail": f"P(wait > {say_seconds(self.at)}) < {share}",
            "mean": f"mean wait < {time}",
            "quantile": f"p{100 * self.at:g} wait < {time}",
            "utilisation": f"utilisation < {share}",
            "blocking": f"blocking < {share}",
        }[self.kind]


def parse_target(text: str) -> Target:
    """Read a service target.

    Examples
    --------
    >>> parse_target("P(wait > 60 s) < 5%")
    Target(kind='tail', limit=0.05, at=60.0)
    >>> parse_target("p95 wait < 15 min")
    Target(kind='quantile', limit=900.0, at=0.95)
    """
    plain = text.strip().lower()
    if match := _TAIL.fullmatch(plain):
        return _limited(text, Target("tail", _share(match["share"]), _time(match["time"])))
    if match := _MEAN.fullmatch(plain):
        return _limited(text, Target("mean", _time(match["time"])))
    if match := _QUANTILE.fullmatch(plain):
        at = float(match["percent"]) / 100
        if not 0 < at < 1:
            raise ParameterError(f"target {text!r}: p{match['percent']} is no quantile.")
        return _limited(text, Target("quantile", _time(match["time"]), at))
    if match := _SHARE.fullmatch(plain):
        kind: Literal["utilisation", "blocking"] = (
            "blocking" if match["what"] == "blocking" else "utilisation"
        )
        return _limited(text, Target(kind, _share(match["share"])))
    raise ParameterError(f"target {text!r} is not understood. Write one of: {_FORMS}.")


def _limited(text: str, target: Target) -> Target:
    if target.limit <= 0:
        raise ParameterError(f"target {text!r}: nothing stays below 0. Raise the limit.")
    return target


def _time(text: str) -> float:
    return parse_seconds(text.strip(), name="target")


def _share(text: str) -> float:
    return parse_share(text.strip(), name="target")
