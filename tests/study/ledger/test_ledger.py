from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some

from prophase.errors import FormatError, InputError, ParameterError
from prophase.study.ledger.balance import balance_of
from prophase.study.ledger.ledger import Ledger
from prophase.study.ledger.settlement import (
    FOLLOWED,
    IGNORED,
    KILLED,
    PER_UNIT_HOUR,
    UNKNOWN,
    PromisedRequest,
    settle_jobs,
)
from prophase.study.proof.candidate import Candidate, CandidateLadder
from prophase.trace.prices import Prices


def advice(**first_gib: float) -> Candidate:
    tasks = {n: CandidateLadder(n, (g, 2 * g, 16.0), saving=0.5) for n, g in first_gib.items()}
    return Candidate("memory", "GiB", tasks, risk=0.01, name="advice.json")


def later(asked: list[float], status: list[str] | None = None) -> pd.DataFrame:
    """One-hour jobs of align, after the history."""
    count = len(asked)
    return pd.DataFrame(
        {
            "job_id": [f"n{i}" for i in range(count)],
            "task": "align",
            "user": "ann",
            "submit_s": 1e6 + np.arange(count),
            "duration_s": 3600.0,
            "request_memory_gib": asked,
            "status": status or ["completed"] * count,
        }
    )


@pytest.fixture
def ledger(tmp_path: Path, pipeline_jobs: pd.DataFrame) -> Ledger:
    book = Ledger(tmp_path / "ledger.db")
    book.add(advice(align=4.0), pipeline_jobs)
    return book


def test_a_followed_advice_saves_what_was_reserved_before_minus_what_is_now(
    ledger: Ledger,
) -> None:
    assert ledger.settle(later([4.0, 4.0])) == 2
    total = balance_of(ledger).advices[0].total
    assert total.followed == 2
    assert total.saved == 2 * 12 * PER_UNIT_HOUR
    assert total.predicted == 2 * 8 * PER_UNIT_HOUR


def test_killed_attempts_count_as_lost_and_losing_tasks_are_named(ledger: Ledger) -> None:
    ledger.settle(later([4.0, 8.0, 12.0], ["oom", "oom", "completed"]))
    found = balance_of(ledger)
    total = found.advices[0].total
    assert (total.killed, total.followed, total.ignored) == (2, 0, 1)
    assert total.saved == -12 * PER_UNIT_HOUR
    assert [task.name for task in found.advices[0].losers] == ["ann/align"]
    assert found.to_dict()["losers"][0]["task"] == "ann/align"


def test_who_asks_as_before_did_not_follow_even_if_it_is_the_last_rung(ledger: Ledger) -> None:
    ledger.settle(later([16.0]))
    total = balance_of(ledger).advices[0].total
    assert (total.ignored, total.saved) == (1, 0)


def test_settling_twice_changes_nothing_and_corrections_replace(ledger: Ledger) -> None:
    ledger.settle(later([4.0, 4.0]))
    first = balance_of(ledger).to_dict()
    ledger.settle(later([4.0, 4.0]))
    assert balance_of(ledger).to_dict() == first
    ledger.settle(later([4.0, 8.0]))
    assert balance_of(ledger).advices[0].total.saved == (12 + 8) * PER_UNIT_HOUR


def test_a_later_advice_takes_over_from_its_first_submission_on(
    ledger: Ledger, pipeline_jobs: pd.DataFrame
) -> None:
    ledger.add(advice(align=3.0), pipeline_jobs, from_s=1e6 + 1)
    ledger.settle(later([4.0, 3.0]))
    first, second = balance_of(ledger).advices
    assert (first.total.jobs, second.total.jobs) == (1, 1)


def test_no_job_is_counted_under_two_advices_whenever_it_is_settled(
    ledger: Ledger, pipeline_jobs: pd.DataFrame
) -> None:
    ledger.settle(later([4.0, 4.0]))
    ledger.add(advice(align=4.0), pipeline_jobs, from_s=1e6 + 1)
    by_user = Candidate(
        "memory", "GiB", {"ann/align": CandidateLadder("ann/align", (4.0,))}, by=("user", "task")
    )
    ledger.add(by_user, pipeline_jobs, from_s=1e6 + 1)
    ledger.settle(later([4.0, 4.0]).assign(user="ann"))
    found = balance_of(ledger)
    assert [one.total.jobs for one in found.advices] == [1, 0, 1]
    assert sum(one.total.saved for one in found.advices) == 2 * 12 * PER_UNIT_HOUR


def test_a_job_without_a_clock_stays_with_the_advice_of_when_it_was_told(
    ledger: Ledger, pipeline_jobs: pd.DataFrame
) -> None:
    jobs = later([4.0]).drop(columns="submit_s")
    ledger.settle(jobs)
    ledger.add(advice(align=4.0), pipeline_jobs)
    ledger.settle(jobs)
    assert [one.total.jobs for one in balance_of(ledger).advices] == [1, 0]


def test_a_task_without_an_earlier_request_is_promised_nothing() -> None:
    jobs = later([4.0, 4.0], ["completed", "oom"])
    found = list(settle_jobs(jobs, {"ann/align": PromisedRequest(math.nan, (4.0,), math.nan)}))
    assert [one.predicted for one in found] == [0, 0]
    assert [one.saved for one in found] == [0, -4 * PER_UNIT_HOUR]


def test_the_history_itself_is_not_settled(ledger: Ledger, pipeline_jobs: pd.DataFrame) -> None:
    assert ledger.settle(pipeline_jobs) == 0


def test_unknown_jobs_are_counted_and_cost_nothing() -> None:
    jobs = later([4.0, math.nan, 4.0], ["running", "completed", "completed"])
    jobs.loc[2, "duration_s"] = np.nan
    found = list(settle_jobs(jobs, {"ann/align": PromisedRequest(16.0, (4.0,), 0.5)}))
    assert [one.outcome for one in found] == [UNKNOWN] * 3
    assert sum(one.actual + one.before for one in found) == 0


@given(
    some.lists(
        some.tuples(
            some.sampled_from([4.0, 8.0, 5.0, 16.0]),
            some.floats(0, 1e6),
            some.sampled_from(["completed", "oom", "failed", "running"]),
            some.sampled_from(["align", "sort", "other"]),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_sums_reconcile_exactly_in_any_order(
    rows: list[tuple[float, float, str, str]],
) -> None:
    jobs = pd.DataFrame(rows, columns=["request_memory_gib", "duration_s", "status", "task"])
    jobs = jobs.assign(job_id=[f"j{i}" for i in range(len(jobs))], submit_s=0.0)
    terms = {
        "align": PromisedRequest(16.0, (4.0, 8.0), 0.3),
        "sort": PromisedRequest(7.3, (4.0,), 1 / 3),
    }
    entries = list(settle_jobs(jobs, terms))
    assert len(entries) == jobs["task"].isin(["align", "sort"]).sum()
    by_task = {t: sum(e.saved for e in entries if e.task == t) for t in terms}
    assert sum(by_task.values()) == sum(e.saved for e in reversed(entries))
    assert sum(e.before for e in entries) - sum(e.actual for e in entries) == sum(by_task.values())
    assert {e.outcome for e in entries} <= {FOLLOWED, KILLED, IGNORED, UNKNOWN}
    for entry in entries:
        job = jobs.set_index("job_id").loc[entry.job_id]
        hours = Fraction(round(job["duration_s"] * 1000), 3_600_000)
        if entry.outcome != UNKNOWN:
            assert Fraction(entry.actual, PER_UNIT_HOUR) == hours * Fraction(
                round(job["request_memory_gib"] * 10_000), 10_000
            )


def test_the_balance_adds_up_and_prices_turn_it_into_money(ledger: Ledger) -> None:
    ledger.settle(later([4.0, 8.0, 16.0], ["completed", "oom", "completed"]))
    found = balance_of(ledger, prices=Prices(gib_hour=0.5, currency="EUR"))
    assert found.reconciles()
    assert found.rows()[0]["saved_cost"] == pytest.approx(0.5 * (12 - 8))
    json.dumps(found.to_dict(), allow_nan=False)


def test_ledgers_that_cannot_be_used_say_why(
    tmp_path: Path, pipeline_jobs: pd.DataFrame, ledger: Ledger
) -> None:
    with pytest.raises(InputError, match="is empty"):
        Ledger(tmp_path / "empty.db").settle(pipeline_jobs)
    (tmp_path / "text.db").write_text("no database at all, but long enough to look like one\n" * 9)
    with pytest.raises(FormatError, match="not a ledger"):
        Ledger(tmp_path / "text.db").settle(pipeline_jobs)
    with pytest.raises(InputError, match="names no task"):
        ledger.add(advice(other=1.0), pipeline_jobs)
    with pytest.raises(ParameterError, match="no recommendation 9"):
        balance_of(ledger, advice=9)
    kept = {"align": CandidateLadder("align", (4.0,), keep=True)}
    with pytest.raises(InputError, match="keeps its request"):
        ledger.add(Candidate("memory", "GiB", kept), pipeline_jobs)
