from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sizing import compare, make_online_sizer, replay, task_runs
from prophase.sizing.replays.learning_curve import cold_start_curve
from prophase.sizing.sizer import Features, OnlineSizer


def _jobs(peaks: list[float], **columns: object) -> pd.DataFrame:
    count = len(peaks)
    return pd.DataFrame(
        {
            "job_id": [f"j{number}" for number in range(count)],
            "task": "align",
            "submit_s": np.arange(count, dtype=float),
            "start_s": np.arange(count, dtype=float),
            "end_s": np.arange(count) + 3600.0,
            "duration_s": 3600.0,
            "request_memory_gib": 16.0,
            "memory_peak_gib": peaks,
            **columns,
        }
    )


class Fixed(OnlineSizer):
    """Asks for 2, then doubles; keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, float, bool]] = []

    def predict(self, task: str, features: Features) -> float:
        self.told.append(("asked", 0.0, False))
        return 2.0

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        self.told.append(("post" if "post" in features else "killed", peak_gib, failed))


def test_waste_is_the_unused_part_and_whole_lost_attempts() -> None:
    found = replay(task_runs(_jobs([1.0, 5.0])), Fixed()).summary()
    # 2 - 1 for the first; 2 and 4 lost and 8 - 5 left over for the second
    assert found["waste_h"] == pytest.approx(1 + 2 + 4 + 3)
    assert found["waste_half_h"] == pytest.approx(1 + 1 + 2 + 3)
    assert found["failures"] == 2
    assert found["oom_share"] == 0.5
    assert found["most_attempts"] == 3
    assert found["utilisation"] == pytest.approx(6 / 16)


def test_online_learns_after_each_task_and_timeline_when_it_ended() -> None:
    online, timeline = Fixed(), Fixed()
    runs = task_runs(_jobs([1.0, 1.0]))
    replay(runs, online)
    replay(runs, timeline, protocol="timeline")
    assert [word for word, _, _ in online.told] == ["asked", "post", "asked", "post"]
    assert [word for word, _, _ in timeline.told] == ["asked", "asked", "post", "post"]


def test_a_killed_attempt_takes_its_time_again_before_it_reports_success() -> None:
    timeline = Fixed()
    # the second begins after the first kill is known, but before the second attempt has ended
    runs = task_runs(_jobs([3.0, 1.0], start_s=[0.0, 4000.0], end_s=[3600.0, 7600.0]))
    replay(runs, timeline, protocol="timeline")
    words = [word for word, _, _ in timeline.told]
    assert words == ["asked", "killed", "asked", "post", "post"]
    assert [peak for word, peak, _ in timeline.told if word == "post"] == [3.0, 1.0]


def test_kills_are_reported_with_the_request_that_was_too_small() -> None:
    sizer = Fixed()
    replay(task_runs(_jobs([5.0])), sizer)
    assert sizer.told[1:] == [("killed", 2.0, True), ("killed", 4.0, True), ("post", 5.0, False)]


def test_a_peak_above_the_node_loses_every_attempt_and_is_counted() -> None:
    found = replay(task_runs(_jobs([1.0, 30.0])), Fixed()).summary()
    assert found["unfit"] == 1
    assert found["waste_h"] == pytest.approx(1 + 2 + 4 + 8 + 16)


def test_a_sizer_that_never_asks_for_more_still_comes_to_an_end() -> None:
    class Stubborn(Fixed):
        def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
            return float("nan")

    assert replay(task_runs(_jobs([9.0])), Stubborn()).summary()["unfit"] == 0


def test_zero_run_times_waste_nothing() -> None:
    found = replay(task_runs(_jobs([1.0, 2.0], duration_s=0.0)), Fixed()).summary()
    assert found["waste_h"] == 0


def test_jobs_that_cannot_be_replayed_are_left_out_and_counted() -> None:
    jobs = _jobs([1.0, 0.0, -2.0, np.nan, 3.0], status=["completed"] * 4 + ["oom"])
    runs = task_runs(jobs)
    assert len(runs) == 1
    assert sum(runs.left_out.values()) == 4
    assert "a negative peak" in runs.left_out


def test_a_trace_of_failures_alone_is_refused() -> None:
    with pytest.raises(InputError, match="lower bound: 2"):
        task_runs(_jobs([1.0, 2.0], status="failed"))


def test_the_strict_track_hides_the_bytes_read() -> None:
    jobs = _jobs([1.0], after_rchar_bytes=2.0**30)
    assert task_runs(jobs).runs[0].features["input_gib"] == 1.0
    assert "input_gib" not in task_runs(jobs, track="strict").runs[0].features
    assert task_runs(jobs, track="strict").runs[0].post["after_rchar_bytes"] == 2.0**30


def test_declared_input_sizes_are_known_in_both_tracks() -> None:
    jobs = _jobs([1.0], attr_input_bytes=2.0**31)
    assert task_runs(jobs, track="strict").runs[0].features["input_gib"] == 2.0


def test_a_trace_without_clocks_or_requests_is_replayed_in_its_order() -> None:
    jobs = _jobs([1.0, 2.0, 3.0]).drop(
        columns=["submit_s", "start_s", "end_s", "request_memory_gib"]
    )
    found = replay(task_runs(jobs), make_online_sizer(), protocol="timeline").summary()
    assert found["tasks"] == 3


def test_other_resources_are_sized_alike() -> None:
    jobs = _jobs([1.0] * 5, time_limit_s=7200.0, request_cpu_cores=4.0, cpu_mean_cores=1.0)
    assert task_runs(jobs, resource="time").runs[0].peak == pytest.approx(1.0)
    assert task_runs(jobs, resource="cpu").runs[0].request == 4.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"track": "inputs"}, "Did you mean 'input'"),
        ({"resource": "memry"}, "Did you mean 'memory'"),
        ({"protocol": "onlin"}, "Did you mean 'online'"),
        ({"node": -1.0}, "more than nothing"),
    ],
)
def test_unknown_words_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        compare(_jobs([1.0]), ["request"], **options)  # type: ignore[arg-type]


def test_warm_replay_needs_frequent_tasks() -> None:
    with pytest.raises(InputError, match="34 instances"):
        compare(_jobs([1.0] * 5), ["request"], protocol="warm")
    found = compare(_jobs([1.0] * 40), ["request", "maximum"], protocol="warm")
    assert found["sizers"][0]["tasks"] == 28
    assert found["sizers"][1]["relative"] < 0.1


def test_the_cold_start_curve_falls() -> None:
    done = replay(task_runs(_jobs([2.0] * 40)), make_online_sizer())
    curve = cold_start_curve(done)
    assert curve[0]["relative"] == 1.0
    assert curve[-1]["relative"] < 0.1
    assert sum(point["tasks"] for point in curve) == 40


@pytest.mark.data
def test_the_default_wastes_less_than_the_rules_of_thumb_on_a_real_trace(shared_data) -> None:
    from prophase.trace.trace_tables import open_trace

    jobs = open_trace(shared_data / "nextflow" / "trace_rnaseq.csv", tables=["jobs"]).jobs
    found = compare(jobs, ["maximum", "krr", "default"], track="strict")
    relative = {row["sizer"]: row["relative"] for row in found["sizers"]}
    assert relative["maximum"] == pytest.approx(0.131, abs=0.002)
    assert relative["krr"] == pytest.approx(0.150, abs=0.002)
    assert relative["default"] < 0.07
