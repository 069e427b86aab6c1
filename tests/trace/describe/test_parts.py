"""Counts, arrivals, classes, recurrence, utilisation, series and nodes on tables one can check."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.trace.describe.arrivals import Arrivals, describe_arrivals
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.distribution import (
    curve_of,
    describe_waits,
    distribution_of,
    log_histogram,
)
from prophase.trace.describe.job_classes import Classes, describe_classes
from prophase.trace.describe.job_counts import count_jobs, count_missing
from prophase.trace.describe.nodes_and_usage import describe_nodes, describe_usage
from prophase.trace.describe.recurrence import Recurrence, describe_recurrence
from prophase.trace.describe.trace_clock import moment_words, span_of, week_exposure_h
from prophase.trace.describe.utilisation import Utilisation, describe_utilisation

HOUR, DAY = 3600.0, 86400.0


def test_a_distribution_counts_zeros_and_leaves_missing_values_out() -> None:
    found = distribution_of(np.array([0.0, 1.0, 3.0, np.nan]))
    assert (found.count, found.missing, found.zeros) == (3, 1, 1)
    assert found.mean == pytest.approx(4 / 3)
    assert found.at("p50") == 1.0
    assert found.at("max") == 3.0


def test_a_histogram_holds_every_positive_value_and_counts_zeros_apart() -> None:
    values = np.r_[np.zeros(3), 10.0 ** np.linspace(-1, 5, 1000), np.nan]
    found = log_histogram(values)
    assert sum(found.counts) == 1000
    assert found.zeros == 3


def test_a_curve_rises_from_the_least_to_the_greatest_value() -> None:
    curve = curve_of(np.array([5.0, 1.0, 3.0, np.nan]))
    assert (curve.values[0], curve.values[-1], curve.count) == (1.0, 5.0, 3)
    assert list(curve.values) == sorted(curve.values)


def test_counts_name_what_differs_and_add_up_requested_hours() -> None:
    jobs = pd.DataFrame(
        {
            "job_id": list("abcd"),
            "user": ["x", "x", "y", None],
            "instances": [1.0, 4.0, np.nan, 1.0],
            "gang_size": [1.0, 4.0, np.nan, 1.0],
            "request_gpus": [1.0, 0.5, 2.0, np.nan],
            "duration_s": [HOUR, HOUR, 2 * HOUR, HOUR],
        }
    )
    found = count_jobs(jobs)
    assert found.distinct == {"user": 2}
    assert found.gpu_hours == pytest.approx(1 + 2 + 4)
    assert found.gang_share == pytest.approx(4 / 6)
    assert np.isnan(found.core_hours)


def test_missing_values_are_counted_per_column_with_the_emptiest_first() -> None:
    jobs = pd.DataFrame({"job_id": ["a", "b"], "user": [None, "x"], "queue": [None, None]})
    found = count_missing({"jobs": jobs})
    assert [(c.column, c.missing) for c in found] == [("queue", 2), ("user", 1), ("job_id", 0)]


@pytest.mark.parametrize(
    ("time_s", "clock", "words"),
    [
        (1_500_000_000.0, "unix", "2017-07-14 02:40"),
        (1_500_000_000.0, "relative", "day 17,362, 02:40"),
        (100.0, "local", "day 1, 00:01"),
        (-60.0, "relative", "day 0, 23:59"),
    ],
)
def test_a_moment_is_a_date_only_if_the_clock_knows_dates(
    time_s: float, clock: str, words: str
) -> None:
    assert moment_words(time_s, clock) == words


def test_the_span_covers_submit_start_and_end() -> None:
    jobs = pd.DataFrame({"submit_s": [10.0, np.nan], "end_s": [np.nan, 10.0 + 2 * DAY]})
    found = span_of(jobs, "relative")
    assert not isinstance(found, NotComputable)
    assert found.days == 2.0


def test_hours_of_the_week_watched_add_up_to_the_span() -> None:
    watched = week_exposure_h(1.5 * HOUR, 1.5 * HOUR + 10 * DAY, "local")
    assert watched.sum() == pytest.approx(240)
    assert watched.max() <= 2.0 + 1e-9


def test_arrivals_of_a_steady_clock_are_flat_and_without_burst() -> None:
    jobs = pd.DataFrame({"submit_s": np.arange(0, 14 * DAY, 600.0)})
    found = describe_arrivals(jobs, "local")
    assert isinstance(found, Arrivals)
    assert found.per_hour == pytest.approx(6)
    np.testing.assert_allclose(found.by_hour, 6, rtol=0.02)
    np.testing.assert_allclose(found.by_weekday, 6, rtol=0.01)
    assert all(window.dispersion < 0.5 for window in found.dispersion if window.width_s > 600)
    assert found.gaps.scv == pytest.approx(0)
    assert sum(found.over_time.counts) == len(jobs)


def test_a_job_on_thursday_noon_counts_for_thursday_and_for_twelve() -> None:
    # 1 January 1970 was a Thursday
    jobs = pd.DataFrame({"submit_s": [12.5 * HOUR + day * 7 * DAY for day in range(5)]})
    found = describe_arrivals(jobs, "unix")
    assert isinstance(found, Arrivals)
    assert int(np.nanargmax(found.by_hour)) == 12
    assert int(np.nanargmax(found.by_weekday)) == 3


def test_poisson_counts_have_a_dispersion_of_one() -> None:
    times = np.cumsum(np.random.default_rng(0).exponential(60.0, 20_000))
    found = describe_arrivals(pd.DataFrame({"submit_s": times}), "relative")
    assert isinstance(found, Arrivals)
    for window in found.dispersion[:3]:
        assert window.dispersion == pytest.approx(1.0, abs=0.15)
    assert found.gap_correlation == pytest.approx(0.0, abs=0.03)


def test_starts_stand_in_for_arrivals_and_are_named() -> None:
    found = describe_arrivals(pd.DataFrame({"start_s": [0.0, 60.0, 600.0]}), "relative")
    assert isinstance(found, Arrivals)
    assert found.basis == "start_s"


@pytest.mark.parametrize(
    ("jobs", "reason"),
    [
        (pd.DataFrame({"job_id": ["a"]}), "no submit times"),
        (pd.DataFrame({"submit_s": [5.0, np.nan]}), "only one job has a submit time"),
        (pd.DataFrame({"submit_s": [5.0, 5.0]}), "all jobs arrive at once"),
    ],
)
def test_arrivals_abstain_with_a_reason(jobs: pd.DataFrame, reason: str) -> None:
    assert describe_arrivals(jobs, "relative") == NotComputable(reason)


def test_jobs_fall_into_the_classes_their_limits_say() -> None:
    jobs = pd.DataFrame(
        {
            "duration_s": [59.0, 60.0, 10.0, np.nan],
            "request_gpus": [1.0, 2.0, 0.0, 4.0],
            "instances": [2.0, 1.0, 1.0, 1.0],
            "workload": ["bert", "bert", "ctr", None],
            "wait_s": [1.0, 2.0, 3.0, np.nan],
        }
    )
    found = describe_classes(jobs, short_below_s=60.0, low_gpus=2.0)
    assert isinstance(found, Classes)
    assert {kind.name for kind in found.classes} == {
        "short, low GPU, bert",
        "long, low GPU, bert",
        "short, no GPU, ctr",
        "unknown length, high GPU, unknown workload",
    }
    assert set(found.wait_by_class) == {"short, low GPU", "long, low GPU", "short, no GPU"}


def test_rare_workloads_are_taken_together() -> None:
    jobs = pd.DataFrame({"workload": [f"w{n % 12}" for n in range(100)] + ["w0"] * 50})
    found = describe_classes(jobs)
    assert isinstance(found, Classes)
    names = [kind.workload for kind in found.classes]
    assert len(names) == 9
    assert "other workloads" in names
    assert sum(kind.jobs for kind in found.classes) == 150


def test_class_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="short_below_s=0"):
        describe_classes(pd.DataFrame({"duration_s": [1.0]}), short_below_s=0)


def test_recurrence_looks_at_earlier_jobs_only() -> None:
    jobs = pd.DataFrame(
        {
            "group": ["g", "g", "h", "g", None],
            "task": ["t", "u", "t", "t", "t"],
            "submit_s": [3.0, 1.0, 2.0, 4.0, 5.0],
            "duration_s": [100.0, 5.0, 5.0, 150.0, 5.0],
        }
    )
    found = describe_recurrence(jobs)
    assert isinstance(found, Recurrence)
    assert found.key == "group + task"
    assert (found.best.jobs, found.best.distinct) == (4, 3)
    assert found.best.seen_before_share == pytest.approx(1 / 4)
    assert found.best.like_last_share == 1.0
    by_group = next(key for key in found.keys if key.key == "group")
    assert by_group.seen_before_share == pytest.approx(2 / 4)


def test_recurrence_by_day_starts_low_and_rises_when_jobs_come_back() -> None:
    random = np.random.default_rng(0)
    jobs = pd.DataFrame(
        {
            "user": random.integers(0, 20, 3000).astype(str),
            "name": random.integers(0, 20, 3000).astype(str),
            "submit_s": np.sort(random.uniform(0, 10 * DAY, 3000)),
        }
    )
    found = describe_recurrence(jobs)
    assert isinstance(found, Recurrence)
    assert (found.period, len(found.seen_before)) == ("day", 10)
    assert found.seen_before[0] < 0.6 < 0.95 < found.seen_before[-1]
    key = jobs["user"] + " " + jobs["name"]
    assert found.best.seen_before_share == pytest.approx(key.duplicated().mean())


def test_without_a_clock_the_order_of_submission_is_used() -> None:
    jobs = pd.DataFrame({"name": ["a", "b", "a"], "submit_order": [2.0, 1.0, 3.0]})
    found = describe_recurrence(jobs)
    assert isinstance(found, Recurrence)
    assert (found.order, found.period) == ("submit_order", "tenth of the jobs")
    assert found.seen_before == (0.0, 0.0, 1.0)


def test_recurrence_abstains_without_a_key() -> None:
    found = describe_recurrence(pd.DataFrame({"user": ["a"], "submit_s": [1.0]}))
    assert isinstance(found, NotComputable)


def test_utilisation_is_weighted_by_duration_and_instances_per_task() -> None:
    jobs = pd.DataFrame(
        {
            "task": ["a", "a", "b", "b", "b"],
            "instances": [1.0, 2.0, np.nan, 1.0, 1.0],
            "duration_s": [100.0, 100.0, 400.0, 10.0, np.nan],
            "request_cpu_cores": [4.0, 4.0, 1.0, 0.0, 4.0],
            "cpu_mean_cores": [1.0, 4.0, 0.5, 3.0, 4.0],
        }
    )
    found = describe_utilisation(jobs)
    assert isinstance(found, Utilisation)
    cpu = found.resources[0]
    assert (cpu.jobs, cpu.without) == (3, 2)
    assert cpu.utilisation == pytest.approx((100 + 800 + 200) / (400 + 800 + 400))
    by_task = {group.name: group.utilisation for group in cpu.by_task}
    assert by_task == pytest.approx({"a": 900 / 1200, "b": 0.5})
    assert cpu.request_above_use_share == pytest.approx(2 / 3)
    assert cpu.use_above_request_share == 0.0
    assert "no request_memory_gib" in found.not_computable["memory, mean use"]


def test_gpu_use_in_percent_is_compared_with_whole_gpus() -> None:
    jobs = pd.DataFrame({"request_gpus": [2.0], "gpu_util_mean_pct": [50.0], "duration_s": [9.0]})
    found = describe_utilisation(jobs)
    assert isinstance(found, Utilisation)
    assert found.resources[0].utilisation == pytest.approx(0.25)


def test_waits_know_who_mostly_waited() -> None:
    jobs = pd.DataFrame({"wait_s": [10.0, 1.0, np.nan], "duration_s": [5.0, 5.0, 5.0]})
    found = describe_waits(jobs)
    assert not isinstance(found, NotComputable)
    assert found.mostly_waiting_share == 0.5


def test_usage_series_know_their_step_and_their_gaps() -> None:
    usage = pd.DataFrame(
        {
            "series_id": ["a"] * 4 + ["b"] * 3,
            "time_s": [0.0, 60.0, 120.0, 180.0, 60.0, 0.0, 600.0],
            "cpu_cores": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, np.nan],
            "note": ["x"] * 7,
        }
    )
    found = describe_usage(usage)
    assert not isinstance(found, NotComputable)
    assert (found.series, found.samples, found.usual_step_s) == (2, 7, 60.0)
    assert (found.gaps, found.series_with_gaps, found.longest_gap_s) == (1, 1, 540.0)
    assert [metric.name for metric in found.metrics] == ["cpu_cores"]
    assert found.metrics[0].values.missing == 1


def test_nodes_of_one_shape_are_one_kind_and_unknown_types_are_kept() -> None:
    nodes = pd.DataFrame(
        {
            "node_id": list("abc"),
            "gpus": [8.0, 8.0, 0.0],
            "gpu_type": ["V100", "V100", None],
            "cpu_cores": [96.0, 96.0, 64.0],
        }
    )
    found = describe_nodes(nodes)
    assert not isinstance(found, NotComputable)
    assert [(kind.gpu_type, kind.nodes) for kind in found.types] == [("V100", 2), ("", 1)]
    assert found.gpus == 16.0
    assert np.isnan(found.memory_gib)


def test_rows_that_one_job_submits_together_are_one_arrival():
    jobs = pd.DataFrame({"job_id": list("abcdef"), "submit_s": [0.0, 0.0, 0.0, 60.0, 60.0, 90.0]})
    apart = describe_arrivals(jobs, "relative")
    assert (apart.count, apart.together) == (6, 0)
    jobs["parent_id"] = ["x", "x", None, "y", "x", "y"]
    told = describe_arrivals(jobs, "relative")
    # the first two of x came together; its third row came later, as tasks of a workflow do
    assert (told.count, told.together, told.missing) == (5, 1, 0)


def test_a_framework_is_a_class_where_the_trace_tells_it():
    jobs = pd.DataFrame({"job_id": list("abcd"), "submit_s": 0.0, "duration_s": [1.0, 3, 5, 7]})
    assert describe_classes(jobs).frameworks == ()
    jobs["task"] = ["PyTorchWorker", "tensorflow", "ps", None]
    jobs["attr_image"] = ["", "", "registry/my-jax:1", "array-tools"]
    found = describe_classes(jobs, clock="unix").frameworks
    assert {one.name: one.jobs for one in found} == {"PyTorch": 1, "TensorFlow": 1, "JAX": 1}
    assert sum(found[0].by_weekday) == 1.0
    own = jobs.assign(attr_framework=["DeepSpeed", "DeepSpeed", None, None])
    assert describe_classes(own).frameworks[0].name == "DeepSpeed"
