from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ParameterError, ProphaseError
from prophase.result import DataUsed
from prophase.result.json_form import to_dict
from prophase.sim import Cluster
from prophase.sizing.kind_recommendation import Gate
from prophase.study.proof import backtest as splits
from prophase.study.proof import cluster_replays as replays
from prophase.study.proof.candidate import Candidate, CandidateLadder
from prophase.study.proof.prover import prove
from prophase.study.proof.report import proof_result
from prophase.study.proof.verdict import Limits

CLUSTER = Cluster.parse("1x0 8c 32g")
LOW = Gate(least_saving=0.2)
LENIENT = Limits(max_oom=0.1)


def advice(**first_gib: float) -> Candidate:
    tasks = {name: CandidateLadder(name, (gib, 2 * gib, 16.0)) for name, gib in first_gib.items()}
    return Candidate("memory", "GiB", tasks)


def test_a_history_that_asks_for_too_much_passes_with_the_saving_of_its_oversized_task(
    pipeline_jobs: pd.DataFrame,
) -> None:
    proof = prove(pipeline_jobs, cluster=CLUSTER, gate=LOW, limits=LENIENT, seeds=2)
    # align reserves two thirds of the memory and needs an eighth of it
    assert proof.verdict.outcome == "pass"
    assert 0.5 < proof.saving.value < 2 / 3
    assert proof.saving.low <= proof.saving.value <= proof.saving.high
    assert proof.advised_jobs == 120


def test_few_resampled_traces_show_nothing_about_waits_and_say_how_to_get_an_interval(
    pipeline_jobs: pd.DataFrame,
) -> None:
    limits = Limits(max_oom=0.1, max_longer_wait=0.1)
    proof = prove(pipeline_jobs, cluster=CLUSTER, gate=LOW, limits=limits, seeds=3)
    assert proof.verdict.outcome == "undecided"
    assert "only 3 resampled traces, at least 8 needed: use --seeds 10" in proof.verdict.sentence()
    assert proof.replays is not None
    assert not any(one.change.known for one in proof.replays.changes)
    assert sum("use --seeds 10" in note for note in proof.replays.notes) == 1
    told = to_dict(proof_result(proof, data=DataUsed("jobs", 200)))
    wait = next(one for one in told["facts"] if one["key"] == "mean_wait_change")
    assert (wait["low"], wait["reason"][:6]) == (None, "only 3")


def test_sums_of_the_proof_are_those_of_the_replay_on_the_cluster(
    pipeline_jobs: pd.DataFrame,
) -> None:
    # 2.1 GiB is too little for about half of the runs: kills and retries are in both sums
    proof = prove(pipeline_jobs, advice(align=2.1, sort=7.0), CLUSTER, seeds=0, splits=0)
    assert proof.retries > 0
    assert proof.replays is not None
    assert proof.replays.allocated_gib_h["today"] == pytest.approx(proof.totals[0].today)
    assert proof.replays.allocated_gib_h["advised"] == pytest.approx(proof.totals[0].advised)
    restarts = proof.replays.of("restarts")
    assert restarts is not None
    assert restarts.advised == proof.retries


def test_task_sums_add_up_to_the_total_saving(pipeline_jobs: pd.DataFrame) -> None:
    proof = prove(pipeline_jobs, advice(align=2.1, sort=7.0), seeds=0, splits=0)
    saved = proof.totals[0].today - proof.totals[0].advised
    assert sum(one.saved_h for one in proof.tasks) == pytest.approx(saved)
    assert sum(one.retries for one in proof.tasks) == proof.retries


def test_an_advice_below_every_peak_fails_and_its_tasks_are_named_as_losers(
    pipeline_jobs: pd.DataFrame,
) -> None:
    proof = prove(pipeline_jobs, advice(sort=5.0), seeds=0, splits=0)
    assert proof.verdict.outcome == "fail"
    assert proof.oom.value == 1.0
    assert [one.task for one in proof.losers] == ["sort"]
    assert "FAIL" in proof.verdict.sentence()


def test_a_kill_costs_the_share_of_the_run_after_which_it_comes(
    pipeline_jobs: pd.DataFrame,
) -> None:
    late = prove(pipeline_jobs, advice(sort=5.0), seeds=0, splits=0)
    early = prove(pipeline_jobs, advice(sort=5.0), seeds=0, splits=0, fails_after=0.5)
    # the first attempt of 120 runs of ten minutes holds 5 GiB, all of it or half
    assert late.totals[0].advised - early.totals[0].advised == pytest.approx(5.0 * 120 / 6 / 2)


def test_without_a_cluster_hours_are_told_and_waits_are_not(pipeline_jobs: pd.DataFrame) -> None:
    proof = prove(pipeline_jobs, advice(align=2.5), splits=0)
    assert proof.replays is None
    assert proof.why_no_replay == "no cluster is named"
    limits = Limits(max_longer_wait=0.1)
    judged = prove(pipeline_jobs, advice(align=2.5), splits=0, limits=limits)
    assert judged.verdict.outcome == "undecided"


def test_a_trace_without_a_clock_is_proven_without_waits(pipeline_jobs: pd.DataFrame) -> None:
    jobs = pipeline_jobs.drop(columns=["submit_s", "start_s", "end_s"])
    proof = prove(jobs, cluster=CLUSTER)
    assert "no clock" in proof.why_no_replay
    assert proof.saving.value > 0.5


def test_prices_turn_hours_into_cost(pipeline_jobs: pd.DataFrame) -> None:
    proof = prove(
        pipeline_jobs, advice(align=2.5), splits=0, prices={"gib_hour": 2.0, "currency": "EUR"}
    )
    hours, cost = proof.totals[0], proof.totals[-1]
    assert (cost.name, cost.unit) == ("cost", "EUR")
    assert cost.today == pytest.approx(2 * hours.today)
    assert cost.advised == pytest.approx(2 * hours.advised)


def test_jobs_whose_need_is_unknown_keep_their_request_and_are_counted(
    pipeline_jobs: pd.DataFrame,
) -> None:
    jobs = pipeline_jobs.copy()
    jobs.loc[:9, "memory_peak_gib"] = np.nan
    jobs.loc[10:14, "status"] = "oom"
    jobs.loc[15:17, "request_memory_gib"] = np.nan
    proof = prove(jobs, advice(align=2.5, sort=7.5), splits=0)
    assert proof.advised_jobs == len(jobs) - 18
    assert proof.left_out["no measured peak"] == 10
    assert proof.left_out["no request today to compare with"] == 3
    assert proof.oom_today.value == pytest.approx(5 / 240)


def test_gpu_advice_is_replayed_as_other_requests(pipeline_jobs: pd.DataFrame) -> None:
    jobs = pipeline_jobs.assign(request_gpus=1.0, gpu_util_mean_pct=20.0)
    half = Candidate("gpu", "GPUs", {"align": CandidateLadder("align", (0.5,))})
    proof = prove(jobs, half, Cluster.parse("2x4"), seeds=0, splits=0)
    assert proof.saving.value == pytest.approx(0.25)
    assert [one.name for one in proof.totals] == ["GPU-hours", "memory-hours", "core-hours"]


def test_what_is_promised_of_gpus_is_what_whole_gpus_save() -> None:
    at = np.arange(240)
    rng = np.random.default_rng(0)
    asked = np.array([1.0, 2.0, 4.0, 8.0])[at % 4]
    jobs = pd.DataFrame(
        {
            "job_id": at.astype(str),
            "task": np.array(["one", "two", "four", "eight"])[at % 4],
            "submit_s": 600.0 * at,
            "duration_s": 500.0,
            "request_gpus": asked,
            # up to 0.4, 0.8, 1.6 and 3.2 GPUs, of which the last two are 2 and 4
            "gpu_util_mean_pct": 100 * asked * rng.uniform(0.3, 0.4, len(at)),
            "instances": 1 + at % 3,
        }
    )
    proof = prove(jobs, resource="gpu", gate=LOW, seeds=0)
    assert proof.predicted == pytest.approx(proof.saving.value, abs=0.01)
    assert proof.saving.value == pytest.approx(0.52, abs=0.01)
    assert proof.splits is not None
    assert proof.splits.near == proof.splits.told == 10
    # nobody is killed for too few GPUs, so the promise counts no second attempt either
    risky = prove(jobs, resource="gpu", risk=0.3, gate=Gate(least_saving=0.2), seeds=0, splits=0)
    assert risky.predicted == pytest.approx(risky.saving.value, abs=0.01)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"memory_peak_gib": np.nan}, InputError, "measured peak"),
        ({"request_memory_gib": np.nan}, InputError, "request_memory_gib"),
        ({"task": "other"}, InputError, "names no task of this history"),
    ],
)
def test_a_history_that_cannot_prove_says_what_it_lacks(
    pipeline_jobs: pd.DataFrame, change: dict[str, object], error: type[ProphaseError], said: str
) -> None:
    with pytest.raises(error, match=said):
        prove(pipeline_jobs.assign(**change), advice(align=2.5), splits=0)


def test_shares_out_of_range_are_refused(pipeline_jobs: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="fails_after"):
        prove(pipeline_jobs, advice(align=2.5), fails_after=0.0)
    with pytest.raises(ParameterError, match="max_oom"):
        Limits(max_oom=1.5)
    with pytest.raises(ParameterError, match="cannot change"):
        Candidate("gpu-memory", "GiB", {})
    assert issubclass(MissingColumnError, InputError)


def test_the_report_of_a_proof_holds_verdict_numbers_and_seeds(
    pipeline_jobs: pd.DataFrame,
) -> None:
    proof = prove(pipeline_jobs, cluster=CLUSTER, gate=LOW, limits=LENIENT, seeds=2)
    report = proof_result(proof, data=DataUsed("jobs", 240, "abc"), command="prophase prove ws")
    document = json.loads(json.dumps(to_dict(report)))
    assert document["tone"] == "good"
    assert document["facts"][0]["low"] is not None
    keys = [one["key"] for one in document["sections"]]
    assert keys[:3] == ["saved", "kept", "waits"]
    assert document["provenance"]["settings"]["risk"] == 0.01
    json.dumps(proof.to_dict(), allow_nan=False)


def test_the_same_seed_gives_the_same_proof(pipeline_jobs: pd.DataFrame) -> None:
    def once() -> dict[str, object]:
        return prove(pipeline_jobs, cluster=CLUSTER, gate=LOW, seeds=2, seed=7).to_dict()

    assert once() == once()


def test_work_spread_over_processes_gives_the_same_proof(
    pipeline_jobs: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(
        function: Callable[[Any, int], Any], shared: Any, tasks: Sequence[int], *, workers: int
    ) -> Iterator[tuple[int, Any]]:
        # as processes do it: everything travels as bytes, and the last may be the first to end
        function, shared = pickle.loads(pickle.dumps((function, shared)))  # noqa: S301
        for task in reversed(tasks):
            yield task, pickle.loads(pickle.dumps(function(shared, task)))  # noqa: S301

    def by(workers: int) -> dict[str, object]:
        proof = prove(pipeline_jobs, cluster=CLUSTER, gate=LOW, splits=4, seeds=2, workers=workers)
        return proof.to_dict()

    alone = by(1)
    for module in (splits, replays):
        monkeypatch.setattr(module, "run_all", elsewhere)
    assert by(4) == alone


def test_a_cluster_whose_nodes_are_too_small_for_every_job_says_what_they_ask_for(
    pipeline_jobs: pd.DataFrame,
) -> None:
    small = Cluster.parse("2x0 8c 4g")
    with pytest.raises(InputError, match="least memory asks for 2 cores, 8 GiB"):
        prove(pipeline_jobs, advice(align=2.5), small, splits=0, seeds=0)
    some = prove(pipeline_jobs, advice(align=2.5), Cluster.parse("2x0 8c 10g"), splits=0, seeds=0)
    assert some.replays is not None
    assert some.replays.jobs == 120
    assert any("fit on no node" in note for note in some.replays.notes)


def test_advised_tasks_that_the_history_does_not_have_are_named(
    pipeline_jobs: pd.DataFrame,
) -> None:
    proof = prove(pipeline_jobs, advice(align=2.5, nobody=1.0), splits=0)
    assert proof.unknown_tasks == ["nobody"]
    assert proof.kept_tasks == {"sort": "not in the recommendation"}


def test_a_gpu_type_without_a_price_is_named(pipeline_jobs: pd.DataFrame) -> None:
    jobs = pipeline_jobs.assign(request_gpus=1.0, gpu_type="T4")
    prices = {"gpu_hour": {"A100": 2.0}}
    with pytest.raises(InputError, match="no GPU type 'T4'"):
        prove(jobs, advice(align=2.5), splits=0, prices=prices)


def test_a_kept_task_changes_nothing(pipeline_jobs: pd.DataFrame) -> None:
    given = advice(align=2.5)
    kept = {"align": replace(given.tasks["align"], keep=True)}
    proof = prove(pipeline_jobs, replace(given, tasks=kept), splits=0)
    assert proof.saving.value == 0.0
    assert proof.advised_jobs == 0


def time_limits(late_s: float = 0.0) -> pd.DataFrame:
    """A queue behind wide jobs, in which short jobs ask for ten hours and take minutes."""
    at = np.arange(600)
    wide = at % 10 == 0
    return pd.DataFrame(
        {
            "job_id": [f"j{i:03d}" for i in at],
            "user": "ann",
            "task": np.where(wide, "wide", "short"),
            "submit_s": 1200.0 * at,
            "duration_s": np.where(wide, 7000.0, 600.0 + at % 7 + late_s * (at > 500)),
            "time_limit_s": np.where(wide, 7200.0, 36_000.0),
            "request_cpu_cores": np.where(wide, 8.0, 5.0),
            "status": "completed",
        }
    )


def test_a_log_without_use_gets_time_limits_whose_waits_are_replayed() -> None:
    proof = prove(time_limits(), cluster=Cluster.parse("1x0 8c 64g, 1x0 5c 64g"), seeds=0)
    assert proof.resource == "time"
    assert proof.settings["policy"]["queue"] == "easy"
    assert proof.saving.value > 0.9
    assert proof.oom.value == 0
    assert proof.replays is not None
    wait = proof.replays.of("mean_wait_s")
    assert wait is not None
    assert wait.advised <= wait.today
    assert [row["measure"] for row in proof.rows()[:2]] == [
        "time limits (h)",
        "core-hours (core h)",
    ]


def test_a_run_longer_than_its_limit_runs_until_it_and_again() -> None:
    jobs = time_limits()
    given = Candidate("time", "h", {"short": CandidateLadder("short", (0.1, 0.5))})
    proof = prove(jobs, given, splits=0)
    assert proof.oom.value == 1.0
    limits, cores = proof.totals[0], proof.totals[1]
    short = 540
    assert limits.advised == pytest.approx(60 * 2.0 + short * (0.1 + 0.5))
    assert cores.advised - cores.today == pytest.approx(short * 0.1 * 5.0)


def test_a_longer_limit_for_runs_that_were_ended_is_not_replayed() -> None:
    jobs = time_limits()
    jobs.loc[jobs.index % 20 == 0, ["status", "duration_s"]] = ["timeout", 7200.0]
    why = "ask for more: 30 of 60 runs were killed"
    given = Candidate("time", "h", {"wide": CandidateLadder("wide", (4.0, 8.0), why=why)})
    proof = prove(jobs, given, splits=0)
    assert (proof.advised_jobs, proof.saving.value) == (0, 0.0)


def test_a_shorter_limit_than_the_recommended_one_stays() -> None:
    jobs = time_limits()
    jobs.loc[jobs["task"] == "short", "time_limit_s"] = np.where(
        np.arange(540) % 2, 36_000.0, 900.0
    )
    given = Candidate("time", "h", {"short": CandidateLadder("short", (0.5, 1.0))})
    proof = prove(jobs, given, splits=0)
    assert proof.totals[0].advised == pytest.approx(60 * 2.0 + 270 * 0.25 + 270 * 0.5)
