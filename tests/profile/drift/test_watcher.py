from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.profile.drift.made_jobs import CHANGE, HISTORY, jobs_of_kinds

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.drift.watcher import Watcher


def test_only_what_broke_is_regrouped_and_all_other_profiles_keep_their_number(
    watched, profiler: WorkloadProfiler
) -> None:
    _, watcher, jobs = watched
    before, after = profiler.predict(jobs), watcher.profiler_.predict(jobs)
    broken = int(pd.Series(before[:HISTORY][jobs["workload"][:HISTORY] == "ctr"]).mode()[0])
    retired = [number for step in watcher.steps_ for number in step.retired]
    new = [number for step in watcher.steps_ for number in step.new]
    assert retired == [broken]
    assert new
    assert min(new) > max(one.profile for one in profiler.profiles_)
    untouched = (before >= 0) & (before != broken)
    assert (after[untouched] == before[untouched]).all()
    changed = (jobs["workload"] == "ctr") & (jobs.index >= CHANGE)
    assert np.isin(after[changed], new).mean() > 0.9
    made = {one.profile: one.name for one in watcher.profiler_.profiles_}
    assert set(made) >= set(new)
    assert all("core" in made[number] or "GPU" in made[number] for number in new), made
    kept = {one.profile: one.name for one in profiler.profiles_ if one.profile != broken}
    assert kept.items() <= made.items()


def test_a_change_is_noticed_early_and_dated_well(watched) -> None:
    _, watcher, jobs = watched
    first = watcher.steps_[0]
    changed = (jobs["workload"] == "ctr") & (jobs.index >= CHANGE)
    assert first.kind == "alarm"
    assert changed[: HISTORY + first.jobs].sum() <= 60
    assert abs(first.since_jobs - (CHANGE - HISTORY)) <= 60
    assert "misfit" in first.reason


def test_longer_runs_are_mended_and_predictions_recover() -> None:
    jobs = jobs_of_kinds(change=CHANGE, what="run", seed=1)
    error = {}
    for act in (True, False):
        watcher = Watcher(method="shrinkage", act=act).fit(jobs[:HISTORY])
        steps = watcher.update(jobs[HISTORY:])
        noticed = HISTORY + steps[0].jobs
        error[act] = watcher.records_.quality(noticed, noticed + 150)["error"]
        if act:
            usual = watcher.records_.quality(HISTORY - 900, CHANGE)["error"]
            assert "ctr" in steps[-1].culprit or "u1" in steps[-1].culprit
            assert steps[0].repair["action"] == "rescale"
            assert steps[-1].repair["factor"] == pytest.approx(3.0, rel=0.25)
            assert watcher.records_.quality(CHANGE + 500)["error"] <= 1.1 * usual
    assert error[True] < error[False]


def test_the_dynamic_part_of_profiles_follows_every_job(watched) -> None:
    _, watcher, _ = watched
    shown = watcher.profiles()
    rows, labels = watcher.records_.table(), watcher.records_.labels
    for one in shown.profiles_:
        own = rows["duration_s"][labels == one.profile]
        assert one.n == len(own)
        assert one.dynamic["duration_s"].mean == pytest.approx(own.mean())


def test_no_jobs_are_no_steps_and_nothing_changes() -> None:
    jobs = jobs_of_kinds(900)
    watcher = Watcher(method="recent-median").fit(jobs)
    assert watcher.update(jobs[:0]) == []
    assert watcher.watched_ == 0


def test_columns_it_does_not_know_and_outcomes_that_are_missing_do_no_harm() -> None:
    jobs = jobs_of_kinds(1_200)
    watcher = Watcher(method="recent-median").fit(jobs[:900])
    further = jobs[900:].assign(after_colour="red", attr_new=1.0)
    further.loc[1000:1100, "duration_s"] = np.nan
    assert watcher.update(further) == []
    assert watcher.watched_ == 300
    assert watcher.records_.quality(900)["jobs"] == 199


def test_metadata_that_stop_coming_are_noticed() -> None:
    jobs = jobs_of_kinds(1_200)
    watcher = Watcher(method="recent-median").fit(jobs[:900])
    (first, *_) = watcher.update(jobs[900:].drop(columns="task"))
    assert first.reason.startswith("novelty of all jobs")


def test_jobs_without_a_clock_are_watched_in_their_order() -> None:
    jobs = jobs_of_kinds(1_200).drop(columns=["submit_s", "start_s", "end_s"])
    jobs.loc[1000:, "duration_s"] *= 8
    watcher = Watcher(method="recent-median").fit(jobs[:900])
    assert watcher.update(jobs[900:])
    assert watcher.steps_[0].time_s is None


def test_profiles_of_another_schema_are_refused(profiler: WorkloadProfiler) -> None:
    jobs = jobs_of_kinds(900).drop(columns="memory_peak_gib")
    with pytest.raises(MissingColumnError, match=r"memory_peak_gib.*prophase profile fit"):
        Watcher(method="recent-median").fit(jobs, profiler)


def test_too_short_a_history_and_a_watcher_that_has_not_learned_are_refused() -> None:
    jobs = jobs_of_kinds(900)
    with pytest.raises(InputError, match="Take a history of 600"):
        Watcher().fit(jobs[:50])
    with pytest.raises(ParameterError, match="Call fit"):
        Watcher().update(jobs)
    with pytest.raises(MissingColumnError, match="gpu_seconds"):
        Watcher(target="gpu_seconds").fit(jobs)
