from __future__ import annotations

import json
import multiprocessing
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from prophase.cells import CELLS, open_cells
from prophase.errors import FormatError, InputError, ParameterError, WorkspaceError
from prophase.sim import Cluster, Schedule, Workload, simulate
from prophase.sim.sweep import resampled_traces, runner
from prophase.sim.sweep.plan import SweepPlan
from prophase.sim.sweep.results import SavedSweep, pareto_front, read_sweep, save_sweep
from prophase.sim.sweep.runner import run_sweep
from prophase.study.sweep_report import overload_remark

PLAN = SweepPlan(["1x4", "1x6"], {"order": ["fifo", "shortest"]}, seeds=3, block_h=24.0)


def trace(jobs: int = 400) -> Workload:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"submit_s": np.sort(rng.uniform(0, 6 * 86400, jobs))})
    table["job_id"], table["duration_s"] = table.index.astype(str), rng.exponential(5000, jobs)
    return Workload.from_jobs(table.assign(request_gpus=1.0))


def test_every_combination_is_ranked_with_intervals_and_the_trace_as_recorded():
    result = run_sweep(trace(), replace(PLAN, seeds=8))
    ranked = result.ranked()
    assert len(result.cells) == 36
    assert list(ranked["rank"]) == [1, 2, 3, 4]
    assert ranked["mean_wait_s"].is_monotonic_increasing
    assert (ranked["mean_wait_s_low"] <= ranked["mean_wait_s"]).all()
    assert (ranked["mean_wait_s"] <= ranked["mean_wait_s_high"]).all()
    assert ranked.loc[0, "behind_best"] == 0
    recorded = result.cells.query("seed == 0 and cluster == '1x4' and order == 'fifo'")
    row = ranked.query("cluster == '1x4' and order == 'fifo'")
    assert row["mean_wait_s"].item() == recorded["mean_wait_s"].item()
    assert set(ranked.loc[ranked["front"], "order"]) == {"shortest"}


def test_a_sweep_over_whole_gpus_leaves_out_gangs_that_fit_as_shares_alone():
    jobs = trace().jobs.assign(request_gpus=0.5, instances=1.0)
    jobs.loc[7, "instances"] = 12.0
    workload, plan = (
        Workload.from_jobs(jobs),
        SweepPlan(["1x6"], {"share": ["off", "per_gpu=1"]}, seeds=2),
    )
    with pytest.raises(InputError, match=r"1 of 400 jobs fit on no node .*: 7\. .*leave"):
        run_sweep(workload, plan)
    result = run_sweep(workload, plan, leave_out_unfit=True)
    assert result.left_out == {"fit on no node of one of the clusters": 1}
    assert set(result.cells["share"]) == {"off", "per_gpu=1"}


def test_the_replay_that_chose_the_blocks_is_not_run_again(monkeypatch: pytest.MonkeyPatch):
    replays: list[str] = []

    def counted(*arguments: Any, **settings: Any) -> Schedule:
        replays.append(settings["order"])
        return simulate(*arguments, **settings)

    for module in (runner, resampled_traces):
        monkeypatch.setattr(module, "simulate", counted)
    plan = replace(PLAN, seeds=0, block_h=None)
    cells = run_sweep(trace(), plan).cells
    assert sorted(replays) == ["fifo", "fifo", "shortest", "shortest"]
    given = run_sweep(trace(), replace(plan, block_h=24.0)).cells
    pd.testing.assert_frame_equal(cells, given)


def test_a_sweep_that_chose_its_blocks_is_written_and_read_again(tmp_path: Path):
    plan = SweepPlan(["4x8"], seeds=2)
    found = run_sweep(trace(), plan)
    save_sweep(SavedSweep(found, plan, ["mean_wait_s"]), tmp_path)
    assert read_sweep(tmp_path).result.drawn == found.drawn


def test_few_seeds_give_means_without_intervals():
    ranked = run_sweep(trace(), PLAN).ranked()
    assert ranked["mean_wait_s"].notna().all()
    assert ranked[["mean_wait_s_low", "behind_best_high"]].isna().all(axis=None)
    assert not ranked["clear"].any()


def test_all_combinations_meet_the_same_jobs():
    cells = run_sweep(trace(), PLAN).cells
    run_s = (cells["mean_jct_s"] - cells["mean_wait_s"]).round(6)
    assert (cells["jobs"].groupby(cells["seed"]).nunique() == 1).all()
    assert (run_s.groupby(cells["seed"]).nunique() == 1).all()
    assert run_s.nunique() == 4


def test_processes_find_what_one_process_finds():
    one, two = run_sweep(trace(), PLAN), run_sweep(trace(), PLAN, workers=2)
    pd.testing.assert_frame_equal(one.cells, two.cells)


def test_ctrl_c_between_two_cells_ends_the_worker_processes():
    def ctrl_c(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as held:
        run_sweep(trace(), PLAN, workers=2, progress=ctrl_c)
    assert held.tb is not None
    # a child that the executor's own thread has just reaped may still be listed for a moment
    deadline_s = time.monotonic() + 60
    while multiprocessing.active_children() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert multiprocessing.active_children() == []


def test_a_second_run_replays_only_what_is_missing(tmp_path: Path):
    calls: list[tuple[int, int]] = []
    run_sweep(trace(), PLAN, folder=tmp_path / "s")
    larger = replace(PLAN, seeds=4)
    again = run_sweep(
        trace(),
        larger,
        folder=tmp_path / "s",
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls[0] == (16, 20)
    assert len(calls) == 5
    pd.testing.assert_frame_equal(again.cells, run_sweep(trace(), larger).cells)


def test_a_line_cut_off_by_a_crash_is_dropped_and_its_cell_runs_again(tmp_path: Path):
    whole = run_sweep(trace(), PLAN, folder=tmp_path)
    path = tmp_path / CELLS
    path.write_bytes(path.read_bytes()[:-20])
    calls: list[int] = []
    again = run_sweep(trace(), PLAN, folder=tmp_path, progress=lambda done, _: calls.append(done))
    assert calls == [15, 16]
    pd.testing.assert_frame_equal(again.cells, whole.cells)
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path):
    run_sweep(trace(), PLAN, folder=tmp_path)
    lines = (tmp_path / CELLS).read_text().splitlines()
    (tmp_path / CELLS).write_text("\n".join([lines[0], "{", *lines[2:]]) + "\n")
    with pytest.raises(FormatError, match=r"cells.jsonl line 2"):
        run_sweep(trace(), PLAN, folder=tmp_path)


def test_the_folder_of_other_jobs_or_of_something_else_is_refused(tmp_path: Path):
    run_sweep(trace(), PLAN, folder=tmp_path / "s")
    with pytest.raises(WorkspaceError, match="other data"):
        run_sweep(trace(300), PLAN, folder=tmp_path / "s")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(WorkspaceError, match=r"it holds thesis\.tex"):
        run_sweep(trace(), PLAN, folder=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_folder_in_use_is_refused(tmp_path: Path):
    with (
        open_cells(tmp_path / "s", "sweep", "hash"),
        pytest.raises(WorkspaceError, match="another sweep is writing"),
        open_cells(tmp_path / "s", "sweep", "hash"),
    ):
        pass


def test_what_cannot_run_is_refused_before_anything_is_written(tmp_path: Path):
    def refused(error, message, plan, jobs=None):
        with pytest.raises(error, match=message):
            run_sweep(jobs or trace(), plan, folder=tmp_path / "s")
        assert not (tmp_path / "s").exists()

    refused(ParameterError, "Did you mean 'shortest'", SweepPlan(["1x4"], {"order": ["shortst"]}))
    refused(InputError, "no column guess", SweepPlan(["1x4"], {"order": ["column:guess"]}))
    wide = trace()
    wide.asks[7, 2] = 5
    refused(InputError, r"1 of 400 jobs .*'1x4'.*: 7\.", SweepPlan(["1x6", "1x4"]), wide)


def test_jobs_that_all_name_a_type_the_cluster_lacks_are_refused_by_name():
    other = trace()
    other.jobs["gpu_type"] = "H100"
    with pytest.raises(InputError, match=r"400 of 400 jobs fit on no node of cluster '1x4 T4'"):
        run_sweep(other, SweepPlan(["1x4 T4"], seeds=1))


def test_a_job_that_one_cluster_cannot_run_is_left_out_of_all():
    wide = trace()
    wide.asks[7, 2] = 5
    result = run_sweep(wide, SweepPlan(["1x6", "1x4"], seeds=1), leave_out_unfit=True)
    assert (result.cells.query("seed == 0")["jobs"] == 399).all()
    assert list(result.left_out.values()) == [1]


def test_an_unknown_measure_is_refused_with_the_nearest():
    with pytest.raises(ParameterError, match="Did you mean 'mean_wait_s'"):
        run_sweep(trace(), SweepPlan(["1x4"], seeds=1)).ranked(["mean_waits"])


def test_the_front_holds_who_is_beaten_by_nobody_and_equals_stay_together():
    costs = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, 4.0], [2.0, 5.0], [9.0, 1.0]])
    assert pareto_front(costs).tolist() == [True, True, True, False, True]


def test_a_sweep_says_what_a_replay_says_and_draws_blocks_that_hold_the_backlog():
    """Single days drawn with replacement break up a backlog that lasts for all of the trace."""
    rng = np.random.default_rng(3)
    submit = np.sort(rng.uniform(0, 12 * 86400, 900))
    jobs = pd.DataFrame({"submit_s": submit, "duration_s": rng.exponential(6000, 900)})
    workload = Workload.from_jobs(jobs.assign(job_id=jobs.index.astype(str), request_gpus=1.0))
    result = run_sweep(workload, SweepPlan(["1x4"], seeds=8))
    assert len(result.cells) == 9
    assert "break up the backlog" in result.drawn.broken
    row = result.ranked().iloc[0]
    assert row["mean_wait_s"] == simulate(workload, Cluster.parse("1x4")).wait_s.mean()
    assert pd.isna(row["mean_wait_s_low"])
    assert "Overloaded in 1 of 1 combinations" in overload_remark(result)
    assert len(run_sweep(workload, SweepPlan(["1x4"], seeds=8, block_h=24.0)).cells) == 9
