from __future__ import annotations

import numpy as np
import pytest

from prophase.stats import Blocks, Estimate, share
from prophase.study.proof.backtest import SplitResult, SplitsFound
from prophase.study.proof.cluster_replays import MeasureChange, Replays
from prophase.study.proof.verdict import Limits, Verdict, judge

SAVED = Estimate(0.5, 0.4, 0.6)
TOO_SHORT = "too short to say: 2 days, at least 3 needed"


def killed(kills: int, runs: int) -> Estimate:
    return share(np.arange(runs) < kills, Blocks.of(np.arange(runs) % 20, unit="day"))


NO_KILLS = killed(0, 100)


def splits(kills: int, runs: int, errors: list[float], silent: int = 0) -> SplitsFound:
    told = [SplitResult(i, 0.0, 9, 9, 9, 1, 50.0, 50.0 - e, 0.0) for i, e in enumerate(errors)]
    rest = [SplitResult(20 + i, 0.0, 9, 9, 0, 0, 0.0, 0.0, 0.0) for i in range(silent)]
    return SplitsFound(told + rest, SAVED, killed(kills, runs))


def outcome(found: Verdict) -> tuple[str, list[str]]:
    return found.outcome, [one.name for one in found.checks if one.holds is not True]


def test_no_kill_among_few_later_runs_does_not_show_that_few_are_killed() -> None:
    few = judge(Limits(), SAVED, NO_KILLS, splits(0, 100, [0.0] * 10), None)
    many = judge(Limits(), SAVED, NO_KILLS, splits(0, 500, [0.0] * 10), None)
    assert outcome(few) == ("undecided", ["OOM kills in the back-test"])
    assert few.sentence().startswith("UNDECIDED: OOM kills in the back-test 0.00 %")
    assert "more runs are needed" in few.sentence()
    assert outcome(many) == ("pass", [])


def test_more_kills_than_allowed_fail_whatever_the_interval_says() -> None:
    found = judge(Limits(), SAVED, NO_KILLS, splits(2, 100, [0.0] * 10), None)
    assert outcome(found) == ("fail", ["OOM kills in the back-test"])


def test_a_saving_whose_interval_reaches_below_the_limit_is_not_shown() -> None:
    later = splits(0, 500, [0.0] * 10)
    assert outcome(judge(Limits(min_saving=0.45), SAVED, NO_KILLS, later, None)) == (
        "undecided",
        ["saving"],
    )
    assert judge(Limits(min_saving=0.55), SAVED, NO_KILLS, later, None).outcome == "fail"


def test_without_later_runs_the_kills_on_the_history_need_an_interval_as_well() -> None:
    assert outcome(judge(Limits(), SAVED, NO_KILLS, None, None)) == (
        "undecided",
        ["OOM kills"],
    )


def test_splits_that_reach_no_later_job_count_neither_as_kept_nor_as_near() -> None:
    found = splits(0, 500, [0.0, 7.0, -9.0], silent=7)
    assert (found.near, found.kept, found.told) == (1, 2, 3)
    assert "at 1 of 3 cut-off dates" in found.sentence()
    assert "7 more match no later job" in found.sentence()


@pytest.mark.parametrize(
    ("errors", "silent", "expected"),
    [
        ([0.0] * 6, 4, "pass"),
        ([0.0] * 4, 6, "undecided"),
        ([9.0] * 2 + [0.0] * 8, 0, "fail"),
        ([9.0] + [0.0] * 9, 0, "pass"),
        ([-9.0] * 10, 0, "pass"),
        ([9.0] * 2, 8, "fail"),
    ],
)
def test_promises_are_judged_on_the_splits_that_tell(
    errors: list[float], silent: int, expected: str
) -> None:
    found = judge(Limits(), SAVED, NO_KILLS, splits(0, 500, errors, silent), None)
    assert found.outcome == expected


@pytest.mark.parametrize("value", [0.1, 0.5])
def test_a_saving_on_a_history_too_short_to_say_is_not_shown_either_way(value: float) -> None:
    alone = Estimate(value, reason=TOO_SHORT)
    found = judge(Limits(), alone, NO_KILLS, splits(0, 500, [0.0] * 10), None)
    assert outcome(found) == ("undecided", ["saving"])
    assert found.sentence().startswith("UNDECIDED")
    assert TOO_SHORT in found.sentence()


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_kills_of_a_history_too_short_to_say_are_not_shown_either_way(value: float) -> None:
    found = judge(Limits(), SAVED, Estimate(value, reason=TOO_SHORT), None, None)
    assert outcome(found) == ("undecided", ["OOM kills"])
    assert TOO_SHORT in found.sentence()


def test_kills_on_the_history_are_a_fact_when_later_runs_tell_the_rest() -> None:
    later = splits(0, 500, [0.0] * 10)
    for value, expected in ((0.0, "pass"), (0.5, "fail")):
        found = judge(Limits(), SAVED, Estimate(value, reason=TOO_SHORT), later, None)
        assert found.outcome == expected


def waits(today: float, change: Estimate) -> Replays:
    found = MeasureChange("mean_wait_s", "all jobs", 9, today, today + change.value, change)
    return Replays([found], {}, [], 9, 10)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Estimate(0.0, -3.0, 4.0), "pass"),
        (Estimate(0.0, -3.0, 9.0), "undecided"),
        (Estimate(9.0, 8.0, 10.0), "fail"),
        (Estimate(0.0, reason="the same on all 10 resampled traces"), "undecided"),
        (Estimate(-4.0, reason="only 3 resampled traces"), "undecided"),
    ],
)
def test_a_wait_is_shown_not_to_grow_only_with_an_interval(change: Estimate, expected: str) -> None:
    limits = Limits(max_longer_wait=0.05)
    later = splits(0, 500, [0.0] * 10)
    found = judge(limits, SAVED, NO_KILLS, later, waits(100.0, change))
    assert found.outcome == expected
    assert change.reason in found.sentence()
