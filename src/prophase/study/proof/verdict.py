"""Does a recommendation pass? What was found, compared with each limit that the user set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.stats import Estimate
from prophase.study.proof.backtest import SplitsFound
from prophase.study.proof.cluster_replays import Replays

Outcome = Literal["pass", "fail", "undecided"]
#: share of the cut-off dates at which later runs must save what was predicted
_NEAR_SHARE = 0.9
#: share of the cut-off dates that must match a later run before the back-test counts
_FEWEST_MATCHED = 0.5


@dataclass(frozen=True)
class Limits:
    """What a recommendation must meet.

    Attributes
    ----------
    max_oom : float
        Share of runs that may be killed at their first request.
    min_saving : float
        Share of what is reserved today that must be saved; any saving will do if 0.
    max_longer_wait : float, optional
        Share by which the mean wait may grow; not judged if not given.
    """

    max_oom: float = 0.01
    min_saving: float = 0.0
    max_longer_wait: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_oom", self.max_oom), ("min_saving", self.min_saving)):
            if not 0 <= value < 1:
                raise ParameterError(f"{name} is {value}, but lies between 0 and 1: write 0.01.")
        if self.max_longer_wait is not None and not self.max_longer_wait >= 0:
            raise ParameterError(f"max_longer_wait is {self.max_longer_wait}: write 0 or more.")


@dataclass(frozen=True)
class LimitCheck:
    """One limit: what was found, and whether it holds; None if that is not shown."""

    name: str
    limit: float
    found: Estimate
    holds: bool | None
    words: str

    def to_dict(self) -> JsonObject:
        """Return the fields as JSON knows them."""
        about = {"name": self.name, "limit": finite(self.limit)}
        return about | self.found.value_and_ends() | {"holds": self.holds, "words": self.words}


@dataclass(frozen=True)
class Verdict:
    """Pass only if every check is shown to hold; undecided if one is not shown either way."""

    checks: list[LimitCheck]

    @property
    def outcome(self) -> Outcome:
        """Whether the recommendation passes."""
        if any(check.holds is False for check in self.checks):
            return "fail"
        return "undecided" if any(check.holds is None for check in self.checks) else "pass"

    def sentence(self) -> str:
        """Say the verdict and what decided it."""
        bad = [check.words for check in self.checks if check.holds is False]
        open_ = [check.words for check in self.checks if check.holds is None]
        if bad:
            return "FAIL: " + "; ".join(bad) + "."
        if open_:
            return "UNDECIDED: " + "; ".join(open_) + "."
        return "PASS: " + "; ".join(check.words for check in self.checks) + "."

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""
        return {"outcome": self.outcome, "checks": [check.to_dict() for check in self.checks]}


def judge(
    limits: Limits,
    saving: Estimate,
    oom: Estimate,
    splits: SplitsFound | None,
    replays: Replays | None,
    *,
    resource: str = "memory",
) -> Verdict:
    """Compare what was found with the limits.

    A limit counts as met only where the data show it: with the whole interval on the right side.
    Kills on the history itself are a fact about it, not a forecast, so that only their share is
    compared with the limit if there is a back-test on later runs.
    """
    kills = {"memory": "OOM kills", "time": "runs killed at their limit"}.get(
        resource, f"runs short of {resource}"
    )
    checks = [
        _saving("saving", saving, limits.min_saving),
        _oom(kills, oom, limits.max_oom, exact=splits is not None),
    ]
    if splits is not None:
        if splits.oom is None or not splits.told:
            words = "no back-test: no later run matches a recommendation made before it"
            checks.append(LimitCheck("back-test", math.nan, Estimate(math.nan), None, words))
        else:
            checks.append(_oom(f"{kills} in the back-test", splits.oom, limits.max_oom))
            checks.append(_kept(splits))
    if limits.max_longer_wait is not None:
        checks.append(_wait(limits.max_longer_wait, replays))
    return Verdict(checks)


def _saving(name: str, found: Estimate, limit: float) -> LimitCheck:
    words = f"{name} {100 * found.value:.1f} %{in_brackets(found)}"
    if limit > 0:
        words += f", required {100 * limit:.1f} %"
    holds = False if found.known and found.value < limit else None
    if found.low > 0 and found.low >= limit:
        holds = True
    elif found.value == 0 == limit:
        words += ": no request is changed"
    elif holds is None:
        words += _so_far(found)
    return LimitCheck(name, limit, found, holds, words)


def _oom(name: str, found: Estimate, limit: float, *, exact: bool = False) -> LimitCheck:
    words = f"{name} {100 * found.value:.2f} %{in_brackets(found, 2)}, limit {100 * limit:.2f} %"
    # no run with a recommendation at all: none is killed
    holds = False if found.value > limit and (exact or found.known) else None
    if holds is None and (exact or found.high <= limit or math.isnan(found.value)):
        holds = True
    elif holds is None:
        words += _so_far(found)
    return LimitCheck(name, limit, found, holds, words)


def _so_far(found: Estimate) -> str:
    """Say why an estimate does not decide."""
    if not found.known:
        return f": {found.reason}"
    return ", but the interval contains the limit: more runs are needed"


def _kept(splits: SplitsFound) -> LimitCheck:
    told, count = splits.told, len(splits.splits)
    needed = math.ceil(_NEAR_SHARE * told - 1e-9)
    kept = float(splits.kept)
    words = (
        f"back-test: saving as predicted, or at most {splits.near_points:g} points less, at "
        f"{splits.kept} of {told} cut-off dates, required {needed}"
    )
    holds: bool | None = splits.kept >= needed
    if holds and told < _FEWEST_MATCHED * count:
        words += f"; the other {count - told} match no later run, which leaves too few"
        holds = None
    return LimitCheck("back-test", needed, Estimate(kept, kept, kept), holds, words)


def _wait(limit: float, replays: Replays | None) -> LimitCheck:
    name = "mean wait"
    found = None if replays is None else replays.of("mean_wait_s")
    if found is None:
        words = "waits are unknown without a cluster (--cluster)"
        return LimitCheck(name, limit, Estimate(math.nan), None, words)
    change = found.change
    if found.today > 0:
        growth = change.scaled(1 / found.today)
    else:
        growth = Estimate(math.inf if change.value > 0 else 0.0)
    words = (
        f"mean wait {found.today:,.0f} s today, {found.advised:,.0f} s with the recommendation, "
        f"limit +{100 * limit:.0f} %"
    )
    holds = growth.value <= limit
    if holds and not (change.high <= 0 or growth.high <= limit):
        most = f"it may be +{100 * growth.high:.0f} %"
        reach = most if growth.known else f"there is no interval: {change.reason}"
        return LimitCheck(name, limit, growth, None, f"{words}, but {reach}")
    return LimitCheck(name, limit, growth, holds, words)


def in_brackets(found: Estimate, digits: int = 1) -> str:
    """Return the interval in percent, as it follows a number; nothing if there is none."""
    if not found.known:
        return ""
    return f" (95 % CI {100 * found.low:.{digits}f} to {100 * found.high:.{digits}f})"
