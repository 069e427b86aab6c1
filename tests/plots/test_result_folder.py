from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingFileError
from prophase.plots.result_files import write_report
from prophase.plots.result_folder import redraw
from prophase.plots.sweep import write_sweep
from prophase.result import Result
from prophase.result.json_form import read_result
from prophase.sim import Workload
from prophase.sim.sweep.plan import SweepPlan
from prophase.sim.sweep.results import SavedSweep, read_sweep, save_sweep
from prophase.sim.sweep.runner import run_sweep


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with a report and a sweep, at other depths."""
    write_report(Result("sizing", "Sizing", question="How much?"), tmp_path / "one")
    jobs = pd.DataFrame({"submit_s": np.arange(300) * 600.0, "duration_s": 4500.0})
    jobs["job_id"], jobs["request_gpus"] = jobs.index.astype(str), 1.0
    plan = SweepPlan(["1x6", "1x8"], {"order": ["fifo", "shortest"]}, seeds=2, block_h=6.0)
    folder = tmp_path / "deep" / "sweep"
    result = run_sweep(Workload.from_jobs(jobs), plan, folder=folder)
    kept = SavedSweep(result, plan, ["mean_wait_s", "gpus"], ["A remark."], "jobs.csv", "sweep it")
    write_sweep(kept, folder)
    save_sweep(kept, folder)
    return tmp_path


def test_everything_below_a_folder_is_written_anew_without_the_trace(results: Path) -> None:
    sweep = results / "deep" / "sweep"
    before = pd.read_csv(sweep / "results.csv")
    for path in (results / "one" / "report.html", sweep / "results.csv", sweep / "pareto.png"):
        path.unlink()
    found = redraw(results)
    assert [(one.kind, one.problem) for one in found] == [("sweep", ""), ("report", "")]
    pd.testing.assert_frame_equal(pd.read_csv(sweep / "results.csv"), before)
    assert (sweep / "pareto.png").exists()
    assert (results / "one" / "report.html").exists()


def test_the_report_of_a_sweep_names_the_best_and_the_front(results: Path) -> None:
    report = read_result(results / "deep" / "sweep" / "report.json")
    assert "1x8" in report.answer
    assert any("Pareto front" in text for text in report.section("ranked").texts)
    assert "A remark." in report.limits
    assert report.provenance is not None
    assert report.provenance.command == "sweep it"


def test_a_damaged_result_is_named_and_stops_no_other(results: Path) -> None:
    (results / "one" / "report.json").write_text("{")
    found = {one.kind: one.problem for one in redraw(results)}
    assert found["sweep"] == ""
    assert "report.json" in found["report"]


def test_a_sweep_that_was_stopped_is_not_drawn(results: Path) -> None:
    sweep = results / "deep" / "sweep"
    assert json.loads((sweep / "results.json").read_text())["measures"] == ["mean_wait_s", "gpus"]
    (sweep / "results.json").unlink()
    with pytest.raises(MissingFileError, match="finish it"):
        read_sweep(sweep)
