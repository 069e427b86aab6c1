from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.validation.result import validation_result
from prophase.sim.validation.verdict import Thresholds
from prophase.sim.validation.wait_validation import Validation, validate, without_outcomes
from prophase.trace.trace_tables import open_trace

CLUSTER = Cluster.uniform(4, 4)


def busy_jobs(count: int = 1500, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(count)]})
    jobs["submit_s"] = np.cumsum(rng.exponential(700.0, count))
    jobs["duration_s"] = rng.lognormal(7.5, 1.2, count)
    jobs["request_gpus"] = rng.choice([0.5, 1.0, 2.0, 4.0], count)
    jobs["queue"] = rng.choice(["a", "b"], count)
    return jobs


@pytest.fixture(scope="module")
def truth() -> pd.DataFrame:
    """Jobs of a cluster that we know: fifo, nobody overtakes."""
    jobs = busy_jobs()
    schedule = simulate(Workload.from_jobs(jobs), CLUSTER, queue="strict")
    return jobs.assign(start_s=schedule.start_s, wait_s=schedule.wait_s, after_nodes="x")


def replayed(jobs: pd.DataFrame, **policy: str) -> Validation:
    return validate(jobs, simulate(Workload.from_jobs(without_outcomes(jobs)), CLUSTER, **policy))


def test_the_true_policy_is_valid_for_every_class(truth: pd.DataFrame) -> None:
    found = replayed(truth, queue="strict")
    assert found.verdict.valid
    assert all(verdict.valid in (True, None) for verdict in found.verdicts)
    assert found.scores["all jobs"].ks.value == 0.0
    gpus = found.utilisation["gpus"]
    assert gpus[0] == pytest.approx(gpus[1])


def test_another_policy_is_not_valid_and_the_reason_is_given(truth: pd.DataFrame) -> None:
    found = replayed(truth, queue="skip", order="shortest")
    assert found.verdict.valid is False
    assert "not valid for the mean wait (-" in found.verdict.words
    assert "limit 15%" in found.verdict.words


def test_a_trace_that_held_more_than_the_cluster_has_is_called_so(truth: pd.DataFrame) -> None:
    small = Cluster.uniform(1, 4)
    jobs = Workload.from_jobs(without_outcomes(truth))
    said = "The trace held more than this cluster has: name the one it ran on."
    told = [validation_result(validate(truth, simulate(jobs, on))) for on in (small, CLUSTER)]
    assert [any(said in line for line in one.notes) for one in told] == [True, False]


def test_the_answer_does_not_depend_on_the_recorded_starts_being_there(truth: pd.DataFrame) -> None:
    shown = simulate(Workload.from_jobs(without_outcomes(truth)), CLUSTER)
    nonsense = truth.assign(start_s=0.0, wait_s=1e6, end_s=1e9, after_nodes="y")
    blind = simulate(Workload.from_jobs(without_outcomes(nonsense)), CLUSTER)
    assert np.array_equal(shown.start_s, blind.start_s)


def test_a_policy_cannot_order_by_an_outcome(truth: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="no column start_s"):
        simulate(Workload.from_jobs(without_outcomes(truth)), CLUSTER, order="column:start_s")


def test_recorded_starts_never_stand_in_for_submit_times(truth: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="no submit times"):
        without_outcomes(truth.drop(columns="submit_s"))
    some = truth.assign(submit_s=truth["submit_s"].where(truth.index % 2 == 0))
    assert len(without_outcomes(some)) == 750


def test_all_jobs_are_replayed_and_only_the_first_are_scored(truth: pd.DataFrame) -> None:
    known = truth.assign(wait_s=truth["wait_s"].where(truth.index < 400), start_s=np.nan)
    schedule = simulate(Workload.from_jobs(without_outcomes(known)), CLUSTER, queue="strict")
    found = validate(known, schedule)
    assert len(found.jobs) == 400
    assert found.left_out == {"no recorded wait": 1100}
    assert found.verdict.valid
    assert found.utilisation == {}
    fewer = validate(known, schedule, score_first=150)
    assert fewer.left_out == {"no recorded wait": 1100, "not among the first 150": 250}
    named = validate(known, schedule, score_ids=["j3", "j5", *(f"j{i}" for i in range(100, 300))])
    assert len(named.jobs) == 202


def test_jobs_of_the_warm_up_are_not_scored(truth: pd.DataFrame) -> None:
    schedule = simulate(Workload.from_jobs(without_outcomes(truth)), CLUSTER)
    found = validate(truth, schedule, warm_up_s=86_400.0)
    first = truth["submit_s"].min()
    assert found.jobs["submit_s"].min() >= first + 86_400


def test_a_class_of_few_jobs_gets_no_verdict(truth: pd.DataFrame) -> None:
    rare = truth.assign(queue=["rare"] * 20 + ["usual"] * 1480)
    schedule = simulate(Workload.from_jobs(without_outcomes(rare)), CLUSTER, queue="strict")
    verdicts = {v.name: v for v in validate(rare, schedule, by="queue").verdicts}
    assert verdicts["rare"].valid is None
    assert verdicts["rare"].words == "too few jobs: 20, fewer than 100"
    assert verdicts["usual"].valid
    easier = validate(rare, schedule, by="queue", thresholds=Thresholds(least_jobs=20))
    assert {v.name: v.valid for v in easier.verdicts}["rare"]


def test_limits_decide(truth: pd.DataFrame) -> None:
    schedule = simulate(Workload.from_jobs(without_outcomes(truth)), CLUSTER, queue="skip")
    assert validate(truth, schedule).verdict.valid is False
    generous = Thresholds(mean_error=99.0, quantile_error=99.0, ks=1.0, rank_correlation=-1.0)
    found = validate(truth, schedule, thresholds=generous)
    uses = {finding.use: finding.holds for finding in found.verdict.findings}
    assert uses["the mean wait"]
    assert uses["the quantiles"]
    assert uses["the distribution"]


def test_a_simulation_no_better_than_a_guess_is_not_for_single_jobs(truth: pd.DataFrame) -> None:
    shuffled = truth.assign(
        wait_s=np.random.default_rng(0).permutation(truth["wait_s"]), start_s=np.nan
    )
    found = replayed(shuffled, queue="strict")
    single = found.verdict.findings[-1]
    assert not single.holds
    assert "guessing" in single.words


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wait_s": np.nan, "start_s": np.nan}, "nothing to validate against"),
        ({"job_id": "same"}, "names several jobs"),
        ({"wait_s": -5.0, "start_s": np.nan}, "recorded start before submission"),
    ],
)
def test_traces_that_cannot_be_scored_are_refused(
    truth: pd.DataFrame, change: dict[str, object], message: str
) -> None:
    schedule = simulate(Workload.from_jobs(without_outcomes(truth)), CLUSTER)
    with pytest.raises(InputError, match=message):
        validate(truth.assign(**change), schedule)


def test_unknown_limits_and_jobs_are_refused(truth: pd.DataFrame) -> None:
    schedule = simulate(Workload.from_jobs(without_outcomes(truth)), CLUSTER)
    with pytest.raises(ParameterError, match="not in the replay, such as nobody"):
        validate(truth, schedule, score_ids=["j1", "nobody"])
    with pytest.raises(ParameterError, match="Did you mean 'ks'"):
        Thresholds.parse({"kss": "1"})
    with pytest.raises(ParameterError, match="no number"):
        Thresholds.parse({"ks": "much"})
    assert Thresholds.parse({"ks": "0.2", "least_jobs": "7"}).least_jobs == 7


def test_a_job_that_starts_several_times_counts_to_its_first_start(truth: pd.DataFrame) -> None:
    found = replayed(truth, queue="strict")
    assert np.allclose(found.jobs["simulated_s"], found.jobs["observed_s"])


@pytest.mark.data
def test_plain_easy_misses_the_real_waits_of_kth_as_its_readme_says(shared_data: Path) -> None:
    jobs = open_trace(shared_data / "hpc-swf" / "kth-sp2-1996.part1.swf.gz").jobs
    schedule = simulate(
        Workload.from_jobs(without_outcomes(jobs)), Cluster.parse("1x0 100c"), queue="easy"
    )
    found = validate(jobs, schedule, draws=20)
    total = found.scores["all jobs"]
    assert total.observed_mean_s == pytest.approx(20_360, rel=0.01)
    assert total.simulated_mean_s == pytest.approx(8_675, rel=0.05)
    assert found.verdict.valid is False
