from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.profile.clusters.conftest import jobs_of_three_kinds

from prophase.errors import InputError, MissingColumnError
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.running_jobs import (
    RunningJob,
    as_predicted,
    completed,
    false_alarms,
    watch_running,
)


@pytest.fixture(scope="module")
def learnt() -> tuple[WorkloadProfiler, ProfileClassifier]:
    jobs = jobs_of_three_kinds(strays=0)
    profiler = WorkloadProfiler().fit(jobs)
    classifier = ProfileClassifier("rules", unknown_below=0.0).fit(jobs, profiler.labels_)
    return profiler, classifier


def _job(**changed: object) -> pd.DataFrame:
    one = {"job_id": "now", "workload": "bert", "task": "worker", "start_s": 1_000.0}
    used = {"cpu_mean_cores": 8.0, "gpu_util_mean_pct": 90.0, "memory_peak_gib": 30.0}
    return pd.DataFrame([{**one, **used, "end_s": np.nan, **changed}])


def _seen(learnt, jobs: pd.DataFrame, **given: object) -> RunningJob:
    profiler, classifier = learnt
    (found,) = watch_running(jobs, profiler.profiles_, classifier, **given)
    return found


def test_a_job_that_does_what_its_profile_does_is_left_alone(learnt) -> None:
    assert _seen(learnt, _job(), now_s=1_400.0).verdict == "as its profile"


def test_an_idle_gpu_and_a_job_that_never_ends_are_named_with_what_to_do(learnt) -> None:
    idle = _seen(learnt, _job(gpu_util_mean_pct=2.0), now_s=1_400.0)
    assert (idle.metric, idle.deviates) == ("gpu_util_mean_pct", True)
    assert "hangs" in idle.sentence()
    late = _seen(learnt, _job(), now_s=9_000.0)
    assert late.metric == "duration_s"
    assert late.run_share > 10
    assert late.sentence().startswith("now has run 2.22 h, ")
    assert " times a usual run; 99 of 100 jobs of its profile (" in late.sentence()


def test_now_is_when_the_table_was_taken(learnt) -> None:
    """Not when the last job of it began, which is long ago on a calm day."""
    assert _seen(learnt, _job(after_elapsed_s=8_000.0)).elapsed_s == 8_000.0


def test_means_wait_for_a_tenth_of_the_run_and_peaks_do_not(learnt) -> None:
    assert _seen(learnt, _job(gpu_util_mean_pct=2.0), now_s=1_010.0).verdict == "too early"
    large = _seen(learnt, _job(memory_peak_gib=90.0), now_s=1_010.0)
    assert large.metric == "memory_peak_gib"
    assert "checkpoint" in large.sentence()
    assert not _seen(learnt, _job(memory_peak_gib=1.0), now_s=1_400.0).deviates


def test_a_series_tells_since_when(learnt) -> None:
    time_s = np.arange(1_000.0, 1_601.0, 10.0)
    memory = np.where(time_s < 1_300.0, 30.0, 80.0)
    usage = pd.DataFrame({"series_id": "now", "time_s": time_s, "memory_gib": memory})
    found = _seen(learnt, _job(), usage=usage)
    assert (found.metric, found.since_s) == ("memory_peak_gib", 300.0)


def test_what_is_not_known_is_said(learnt) -> None:
    profiler, classifier = learnt
    strange = _job(workload="never", task="seen")
    assert _seen(learnt, strange, now_s=1_400.0).verdict == "profile unknown"
    assert watch_running(_job(end_s=1_100.0), profiler.profiles_, classifier) == []
    with pytest.raises(InputError, match="--at"):
        _seen(learnt, _job(), now_s=0.0)
    with pytest.raises(MissingColumnError, match="start_s"):
        watch_running(_job().drop(columns="start_s"), profiler.profiles_, classifier)


def test_completed_jobs_tell_how_often_an_alarm_is_false(learnt) -> None:
    profiler, classifier = learnt
    jobs = jobs_of_three_kinds(strays=0)
    jobs = jobs.assign(start_s=3_600.0 * np.arange(len(jobs)), status="completed")
    done = completed(jobs)
    assert false_alarms(done, profiler.profiles_, classifier).value < 0.02
    later = np.arange(len(done)) >= 2 * len(done) // 3
    grown = done.assign(memory_peak_gib=done["memory_peak_gib"] * np.where(later, 10, 1))
    assert false_alarms(grown, profiler.profiles_, classifier).value > 0.9
    assert "fewer than" in false_alarms(done[:5], profiler.profiles_, classifier).reason
    assert len(completed(jobs.assign(status=["failed", *["completed"] * (len(jobs) - 1)]))) < len(
        jobs
    )


def test_a_profile_that_metadata_mistakes_is_as_wide_as_the_jobs_taken_for_it(learnt) -> None:
    profiler, classifier = learnt
    jobs = jobs_of_three_kinds(strays=0)
    wide = jobs.assign(memory_peak_gib=jobs["memory_peak_gib"] * 4)
    taken = as_predicted(profiler.profiles_, wide, classifier)
    large = _job(memory_peak_gib=90.0)
    (strict,) = watch_running(large, profiler.profiles_, classifier, now_s=1_400.0)
    (lenient,) = watch_running(large, taken, classifier, now_s=1_400.0)
    assert (strict.deviates, lenient.deviates) == (True, False)
