"""A saved queue of a real Slurm is read, run forward and asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prophase.errors import FormatError, MissingFileError, ParameterError
from prophase.sim.forecast.past_forecasts import withheld
from prophase.sim.forecast.start_forecast import IntervalWidening
from prophase.sim.slurm.snapshot import QueueSnapshot, words_of
from prophase.sim.slurm.twin import ORDERS, QueueTwin
from prophase.sim.slurm.twin_answers import sooner, what_if, why_waits
from prophase.sim.slurm.twin_check import check_twin
from prophase.stats import Estimate
from prophase.trace.trace_tables import open_trace

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def shot() -> QueueSnapshot:
    return QueueSnapshot.read(HERE / "queue")


@pytest.fixture(scope="module")
def twin(shot: QueueSnapshot) -> QueueTwin:
    jobs = open_trace(HERE / "history", source="sacct").jobs
    return QueueTwin(shot, jobs[jobs["end_s"] <= shot.now_s], draws=10)


def test_a_saved_queue_has_the_jobs_nodes_and_rules_of_the_site(shot: QueueSnapshot) -> None:
    assert (len(shot.running), len(shot.waiting), len(shot.nodes)) == (16, 14, 16)
    assert shot.rules.partitions["long"].max_time_s == 7200
    assert shot.rules.preempt_by == "qos"
    assert shot.rules.qualities["normal"].per_user.cpu_cores == 72
    summary = shot.summary().set_index("partition")
    assert summary.loc["short", "nodes"] == 16
    assert summary["waiting"].sum() == 14
    first = shot.waiting.iloc[0]
    assert first["attr_priority"] == shot.waiting["attr_priority"].max()


def test_what_runs_keeps_its_nodes_until_it_ends(twin: QueueTwin) -> None:
    left = np.full(len(twin.jobs), 50.0)
    found = twin.starts(left)
    assert found.notna().all()
    assert (found >= 0).all()
    # nobody ends for so long: who starts at once finds room beside what runs
    later = twin.starts(np.where(np.arange(len(left)) < twin.running, 5000.0, 50.0))
    assert later.mean() > found.mean()


def test_every_order_starts_every_job(twin: QueueTwin) -> None:
    left = np.full(len(twin.jobs), 30.0)
    for order in ORDERS:
        assert twin.starts(left, order=order).notna().all()
    with pytest.raises(ParameterError, match="order 'lottery' is unknown"):
        twin.starts(left, order="lottery")


def test_a_forecast_has_an_interval_around_its_median(twin: QueueTwin) -> None:
    job = str(twin.snapshot.waiting["job_id"].iloc[5])
    found = twin.eta(job)
    assert found.known
    assert found.p10_s is not None
    assert found.p50_s is not None
    assert found.p90_s is not None
    assert 0 <= found.p10_s <= found.p50_s <= found.p90_s
    with pytest.raises(ParameterError, match=r"does not wait in this queue\. It runs already"):
        twin.eta(str(twin.snapshot.running["job_id"].iloc[0]))


def test_without_history_there_is_no_forecast_but_a_reason(shot: QueueSnapshot) -> None:
    found = QueueTwin(shot).eta(str(shot.waiting["job_id"].iloc[0]))
    assert not found.known
    assert "finished jobs are known" in found.reason


def test_other_requests_are_tried_and_impossible_ones_named(twin: QueueTwin) -> None:
    waiting = twin.snapshot.waiting
    job = str(waiting[waiting["queue"] == "long"]["job_id"].iloc[-1])
    found = sooner(twin, job)
    assert found[0].change == "as it is"
    named = {one.change: one for one in found}
    assert "partition short" in named
    long_one = waiting[(waiting["queue"] == "long") & (waiting["time_limit_s"] > 240)]
    refused = sooner(twin, str(long_one["job_id"].iloc[0]))
    assert any("MaxTime" in one.reason for one in refused)


def test_fewer_nodes_start_jobs_later(twin: QueueTwin) -> None:
    rows = what_if(twin, orders=["shortest"], down=["n[1-4]"])
    assert [row["case"] for row in rows] == ["as it is", "order shortest", "4 nodes down"]
    assert float(str(rows[2]["change_s"])) > 0
    with pytest.raises(ParameterError, match="node n99 is not one of the cluster's"):
        what_if(twin, down=["n99"])


def test_causes_of_a_wait_are_taken_away_one_by_one(twin: QueueTwin) -> None:
    job = str(twin.snapshot.waiting["job_id"].iloc[-1])
    rows = why_waits(twin, job)
    assert rows[0]["cause"] == "as it is"
    assert all(float(str(row["change_s"])) <= 1e-9 for row in rows[:3])


def test_past_forecasts_are_checked_and_bad_ones_withheld(twin: QueueTwin) -> None:
    history = open_trace(HERE / "history", source="sacct").jobs
    check = check_twin(history, twin.snapshot, instants=3, per_instant=6, draws=10)
    assert check.forecasts >= 10
    assert 0 <= check.covered <= 1
    found = twin.eta(str(twin.snapshot.waiting["job_id"].iloc[3]))
    good = replace(
        check, forecasts=100, error_s=10.0, alike_error_s=40.0, held=Estimate(0.8, 0.7, 0.9)
    )
    assert withheld(found, good.why_withheld).known
    assert "not 30 % better" in withheld(found, replace(good, error_s=29.0).why_withheld).reason
    narrow = replace(good, held=Estimate(0.5, 0.4, 0.6))
    assert "held 50% of the starts" in withheld(found, narrow.why_withheld).reason
    assert not replace(narrow, forecasts=5).why_withheld


def test_fitted_ends_hold_eighty_percent() -> None:
    rng = np.random.default_rng(0)
    truth = rng.lognormal(4, 1, 2000)
    middle = truth * rng.lognormal(0, 0.5, 2000)
    moves = IntervalWidening.learn(middle[:1000] * 0.9, middle[:1000] * 1.1, truth[:1000])
    low, high = np.array([moves.apply(0.9 * m, 1.1 * m) for m in middle[1000:]]).T
    assert 0.75 <= ((truth[1000:] >= low) & (truth[1000:] <= high)).mean() <= 0.85


def test_broken_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"jobs\.txt.*prophase queue slurm --out"):
        QueueSnapshot.read(tmp_path)
    for name in ("jobs.txt", "nodes.txt", "partitions.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(FormatError, match=r"jobs\.txt: tells no time"):
        QueueSnapshot.read(tmp_path)
    (tmp_path / "now.txt").write_text("100")
    with pytest.raises(FormatError, match=r"nodes\.txt: holds nothing"):
        QueueSnapshot.read(tmp_path)


def test_tasks_of_an_array_are_jobs_of_their_own() -> None:
    line = "JobId=5 ArrayJobId=5 ArrayTaskId=1-5:2,9%2 ArrayTaskThrottle=2 JobState=PENDING"
    assert next(words_of(line))["ArrayTaskId"] == "1-5:2,9%2"
    from prophase.sim.slurm import snapshot

    jobs, _ = snapshot._jobs(line, 0.0)
    assert jobs["job_id"].tolist() == ["5_1", "5_3", "5_5", "5_9"]
    assert jobs["attr_array_throttle"].tolist() == [2.0] * 4
