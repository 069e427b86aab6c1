"""Every policy on the same unseen series, and how allocation grows with satisfaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from prophase.autoscale.allocation_measures import (
    Measures,
    Penalties,
    allocated_by_run,
    measure,
)
from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.memory_kills import KillRule, killed
from prophase.autoscale.objective import Objective, objective_of
from prophase.autoscale.phase_labels import RunLabeller, labelled
from prophase.autoscale.policy_catalogue import WITH_PHASES, available, chosen
from prophase.autoscale.tuned_policy import TunedPolicy, tune
from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.stats import Blocks, Estimate, ratio

#: points that the realised satisfaction may lie below the asked one
TOLERANCE_PTS = 0.3
#: times the asked rate that kills may be on new series: they are few, so their rate is uncertain
_KILLS_TOLERANCE = 1.5


@dataclass(frozen=True)
class PolicyScore:
    """One policy, what it chose on the fit series, and how it did on the test series."""

    policy: str
    measures: Measures
    #: (decisions,) of the test series
    allocation: Floats
    tuned: TunedPolicy

    def row(self) -> JsonObject:
        """Return one row of the report."""
        return {"policy": self.policy, **self.measures.row(), **self._choices()}

    def _choices(self) -> dict[str, object]:
        expected = self.tuned.expected
        return {
            "expected_allocation_over_usage": expected.allocation_over_usage,
            "expected_satisfied_pct": expected.satisfied_pct,
            "expected_kills_per_pod_day": expected.kills_per_pod_day,
            "dial": self.tuned.dial,
            "hysteresis_up": self.tuned.rule.up,
            "hysteresis_down": self.tuned.rule.down,
            "settings": self.tuned.policy.settings(),
        }


@dataclass(frozen=True)
class PhaseGain:
    """What phases add to a policy: its allocation over that of the same policy without them."""

    policy: str
    control: str
    #: on the fit series, each held out, where both do as asked: below 1, phases save
    fitted: Estimate
    #: on the test series
    tested: Estimate
    #: what else differs on the test series: points satisfied, kills per pod-day
    satisfied_pts: float
    kills_per_pod_day: float | None

    @property
    def pays(self) -> bool:
        """Whether they save beyond doubt where policies are chosen: on the fit series."""
        return self.fitted.known and self.fitted.high < 1

    def row(self) -> JsonObject:
        """Return one row of the report; gains in percent, negative where phases save."""
        fitted, tested = (one.mapped(_change_pct) for one in (self.fitted, self.tested))
        return {
            "policy": self.policy,
            "without_phases": self.control,
            "fit_change_pct": fitted.value,
            "fit_change_pct_low": fitted.low,
            "fit_change_pct_high": fitted.high,
            "test_change_pct": tested.value,
            "test_change_pct_low": tested.low,
            "test_change_pct_high": tested.high,
            "test_satisfied_pts": self.satisfied_pts,
            "test_kills_per_pod_day": self.kills_per_pod_day,
            "pays": self.pays,
        }


def _change_pct(share: float) -> float:
    return 100 * (share - 1)


@dataclass(frozen=True)
class PolicyComparison:
    """All policies on the test series."""

    judged: tuple[PolicyScore, ...]
    fit: Fleet
    test: Fleet
    objective: Objective
    max_resizes: float
    #: what told phases apart; None: by hand
    labeller: RunLabeller | None = None

    @property
    def target(self) -> float:
        """Share of samples to satisfy, or what policies plan for when kills are counted."""
        return self.objective.share

    def named(self, policy: str) -> PolicyScore:
        return next(one for one in self.judged if one.policy == policy)

    @property
    def eligible(self) -> list[PolicyScore]:
        """Those that can be run and did as asked on the fit series, each of them held out."""
        return [
            one
            for one in self.judged
            if one.policy != "oracle"
            and one.tuned.is_met
            and one.tuned.expected.resizes_per_1000 <= self.max_resizes
        ]

    @cached_property
    def winner(self) -> PolicyScore | None:
        """The least allocation on the fit series; the test series have no say in it.

        A policy with phases has to save, beyond doubt, against the best one without; and where a
        share is asked for, any other against one that corrects itself by what a run was not given,
        since that share holds on series that are unlike the fit series.
        """
        best = min(self.eligible, key=_expected, default=None)
        plain = [one for one in self.eligible if one.policy not in WITH_PHASES]
        if best is not None and best.policy in WITH_PHASES and plain:
            second = min(plain, key=_expected)
            best = best if self._fitted(best, second).high < 1 else second
        steady = [one for one in plain if one.tuned.policy.corrects]
        if best is None or not steady or self.objective.kills_per_pod_day is not None:
            return best
        second = min(steady, key=_expected)
        return best if best is second or self._fitted(best, second).high < 1 else second

    def gain(self, policy: str, control: str) -> PhaseGain:
        """Return what a policy allocates over another one, with intervals over series."""
        one, other = self.named(policy), self.named(control)
        rule, test = self.objective.rule, self.test
        tested = _over(test, one.allocation, other.allocation, rule)
        mine, theirs = one.measures, other.measures
        kills = None
        if mine.kills_per_pod_day is not None and theirs.kills_per_pod_day is not None:
            kills = mine.kills_per_pod_day - theirs.kills_per_pod_day
        points = mine.satisfied_pct - theirs.satisfied_pct
        return PhaseGain(policy, control, self._fitted(one, other), tested, points, kills)

    @cached_property
    def gains(self) -> list[PhaseGain]:
        """What phases add to each policy that uses them."""
        names = {one.policy for one in self.judged}
        pairs = WITH_PHASES.items()
        return [self.gain(one, other) for one, other in pairs if {one, other} <= names]

    def _fitted(self, one: PolicyScore, other: PolicyScore) -> Estimate:
        fleet = one.tuned.fleet
        given = [each.held_out.allocate(each.dial, each.rule) for each in (one.tuned, other.tuned)]
        return _over(fleet, given[0], given[1], self.objective.rule)

    def expected_kills(self, one: PolicyScore) -> Estimate | None:
        """Return kills per pod-day on the fit series, each held out; None if nobody is killed."""
        if self.objective.kills_per_pod_day is None:
            return None
        tuned, rule = one.tuned, self.objective.rule
        return killed(tuned.fleet, tuned.held_out.allocate(tuned.dial, tuned.rule), rule).rate()

    def does_as_asked(self, one: PolicyScore) -> bool:
        """Return whether a policy keeps on the test series what was asked."""
        found, allowed = one.measures, self.objective.kills_per_pod_day
        if found.resizes_per_1000 > 1.1 * self.max_resizes:
            return False
        if allowed is None:
            return found.satisfied_pct >= 100 * self.target - TOLERANCE_PTS
        assert found.kills_per_pod_day is not None
        return found.kills_per_pod_day <= _KILLS_TOLERANCE * allowed

    def verdict(self) -> str:
        """Say in a sentence which policy wins, and whether phases help."""
        within = f"within {self.max_resizes:g} resizes per 1,000 samples"
        if self.winner is None:
            nearest = max(
                (one for one in self.judged if one.policy != "oracle"),
                key=lambda one: one.measures.satisfied_pct,
            )
            return (
                f"No policy keeps to {self.objective} {within} on the series it learnt from; "
                f"on the test series {nearest.policy} comes nearest with {self._kept(nearest)}."
            )
        won = self.winner
        word = "as asked" if self.does_as_asked(won) else "which is not what was asked"
        return (
            f"Winner, chosen on the fit series alone: {won.policy}. On the test series it has "
            f"{won.measures.allocation_over_usage:.3f} allocated per used and "
            f"{self._kept(won)}, {word} ({self.objective}, {within}). "
            f"{self._promised(won)}{self._against_vpa(won)}{self._phases()}"
        )

    def _promised(self, won: PolicyScore) -> str:
        """Say what the fit series let expect of kills, and whether that holds what was asked."""
        found, allowed = self.expected_kills(won), self.objective.kills_per_pod_day
        if found is None or allowed is None:
            return ""
        if not found.known:
            return (
                f"The fit series let expect {found.value:.3g} kills per pod-day (no interval: "
                f"{found.reason}). "
            )
        word = "are sure to keep" if found.high <= allowed else "may not keep"
        return (
            f"The fit series, each held out, let expect {found.value:.3g} kills per pod-day "
            f"({found.low:.2g} to {found.high:.2g}): other series {word} to what was asked. "
        )

    def _kept(self, one: PolicyScore) -> str:
        found = one.measures
        said = f"{found.satisfied_pct:.2f} % satisfied"
        if found.kills_per_pod_day is not None:
            said += f" and {found.kills_per_pod_day:.3g} kills per pod-day"
        return said

    def _against_vpa(self, won: PolicyScore) -> str:
        vpa = next((one for one in self.judged if one.policy == "vpa"), None)
        if vpa is None or vpa is won:
            return ""
        share = won.measures.allocation_over_usage / vpa.measures.allocation_over_usage
        return (
            f"VPA's rule allocates {vpa.measures.allocation_over_usage:.3f} with "
            f"{self._kept(vpa)}: the winner takes {share:.2f} times as much. "
        )

    def _phases(self) -> str:
        if not self.gains:
            return "No policy with phases was tried."
        best = min(self.gains, key=lambda one: _expected(self.named(one.policy)))
        found, by = best.fitted.mapped(_change_pct), "labelled by rules"
        if self.labeller is not None:
            by = f"found by {self.labeller.name}"
        said = f"{best.policy} allocates {found.value:+.1f} %"
        if found.known:
            said += f" ({found.low:+.1f} to {found.high:+.1f})"
        else:
            said += f" (no interval: {found.reason})"
        word = "pay" if best.pays else "cost" if found.low > 0 else "add nothing that is sure"
        used = self.winner is not None and self.winner.policy in WITH_PHASES
        return (
            f"Phases {by} {word}: on the fit series, each held out, {said} against "
            f"{best.control}; the winner {'uses' if used else 'does not use'} them."
        )


def _expected(one: PolicyScore) -> float:
    return one.tuned.expected.allocation_over_usage


def _over(fleet: Fleet, one: Floats, other: Floats, rule: KillRule) -> Estimate:
    """Return the ratio of two allocations of the same series, with an interval over series."""
    sums = [allocated_by_run(fleet, given, rule) for given in (one, other)]
    return ratio(sums[0], sums[1], Blocks.of(fleet.series_id, unit="series"))


def compare(
    fit: Fleet,
    test: Fleet,
    *,
    target: float | Objective = 0.99,
    policies: Sequence[str] | None = None,
    max_resizes: float = 40.0,
    penalties: Penalties | None = None,
    labeller: RunLabeller | None = None,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda name: None,
) -> PolicyComparison:
    """Return every policy, learned and tuned on the fit series, judged on the test series.

    Parameters
    ----------
    fit, test : Fleet
        Series to learn from, and others to be judged on; no series may be in both.
    target : float or Objective, default=0.99
        Share of samples to satisfy, or kills that are allowed.
    policies : sequence of str, optional
        Names; all that can run here if not given. Static, VPA, recent maximum, the control
        without phases and the oracle are always there.
    max_resizes : float, default=40.0
        Resizes per 1,000 samples that are allowed.
    penalties : Penalties, optional
        What violations and resizes count in the cost of a policy.
    labeller : RunLabeller, optional
        A fitted phase detector, see `prophase.study.phase_scaling`. Without one, policies with
        phases tell them apart by hand: by level, movement and restlessness.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> runs = [np.repeat(rng.uniform(1, 4, 8), 25) for _ in range(6)]
    >>> fleets = [
    ...     Fleet.of_runs(part, series_id=names)
    ...     for part, names in ((runs[:3], "abc"), (runs[3:], "def"))
    ... ]
    >>> found = compare(*fleets, target=0.9, policies=["phase-relative"])
    >>> found.named("oracle").measures.satisfied_pct
    100.0
    """
    shared = sorted(set(fit.series) & set(test.series))
    if shared:
        raise InputError(
            f"{counted(len(shared), 'series is', 'series are')} in fit and in test, such as "
            f"{shared[0]}. A policy may not be judged on what it has learned; give other series."
        )
    asked = objective_of(target)
    fit, test = labelled(fit, labeller), labelled(test, labeller)
    judged = []
    for policy in chosen(available() if policies is None else policies):
        progress(policy.name)
        tuned = tune(policy, fit, target=asked, max_resizes=max_resizes, random_state=random_state)
        allocation = tuned.allocate(test)
        judged.append(
            PolicyScore(
                policy.name, measure(test, allocation, penalties, asked.rule), allocation, tuned
            )
        )
    return PolicyComparison(tuple(judged), fit, test, asked, max_resizes, labeller)


def divided(fleet: Fleet, *, test_share: float = 0.5, random_state: int = 0) -> tuple[Fleet, Fleet]:
    """Return fit and test series: whole series at random, or of a single one its later part."""
    names = fleet.series
    if len(names) > 1:
        shuffled = np.random.default_rng(random_state).permutation(len(names))
        count = min(max(1, round(test_share * len(names))), len(names) - 1)
        test = [names[place] for place in shuffled[:count]]
        return fleet.only([name for name in names if name not in set(test)]), fleet.only(test)
    return _by_time(fleet, test_share)


def _by_time(fleet: Fleet, test_share: float) -> tuple[Fleet, Fleet]:
    cut = round((1 - test_share) * fleet.samples)
    earlier, later = [], []
    for run in fleet.runs():
        if run.start < cut:
            earlier.append(slice(run.start, min(run.stop, cut)))
        if run.stop > cut:
            later.append(slice(max(run.start, cut), run.stop))
    sides = []
    for part, word in ((earlier, "earlier"), (later, "later")):
        side = fleet.parts(part, [f"{fleet.series[0]}, {word}"] * len(part))
        if side.samples <= fleet.every:
            raise InputError(
                f"{fleet.series[0]} has {fleet.samples:,} samples, too few to learn from an "
                f"earlier part and be judged on a later one. Give more series or samples."
            )
        sides.append(side)
    return sides[0], sides[1]


TARGETS = (0.9, 0.95, 0.98, 0.99, 0.995)


def frontier(found: PolicyComparison, targets: Sequence[float] = TARGETS) -> pd.DataFrame:
    """Return what each policy allocates and satisfies on the test series, target by target.

    The settings stay those chosen for the comparison's target; the dial is set again on the fit
    series, with every fit series held out from what it is planned by.
    """
    rows = []
    for one in found.judged:
        tuned = one.tuned
        if not tuned.policy.tuned:
            rows.append({"policy": one.policy, "target_pct": None, **_point(one.measures.row())})
            continue
        plan = tuned.policy.plan(found.test)
        for target in targets:
            allocation = plan.allocate(tuned.dial_for(target), tuned.rule)
            measures = measure(found.test, allocation, rule=found.objective.rule).row()
            rows.append({"policy": one.policy, "target_pct": 100 * target, **_point(measures)})
    return pd.DataFrame(rows)


def _point(measures: dict[str, float]) -> dict[str, float]:
    names = ("allocation_over_usage", "satisfied_pct", "resizes_per_1000")
    return {name: measures[name] for name in names}
