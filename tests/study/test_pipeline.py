from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import StorageError
from prophase.result.json_form import to_dict
from prophase.study import pipeline as running
from prophase.study.closing import closing
from prophase.study.pipeline import StepFailedError, StudyResult, Watching, run_study
from prophase.study.plan import StudyPlan
from prophase.study.steps import registry as steps
from prophase.study.steps.cache import held_alone
from prophase.study.steps.context import StepContext, StepOutcome

#: quick steps; the others are tried on the command line and on real traces
QUICK = ("lint", "sizing", "proof")


@pytest.fixture
def trace(tmp_path: Path, pipeline_jobs: pd.DataFrame) -> Path:
    path = tmp_path / "jobs.csv"
    pipeline_jobs.drop(columns=["start_s", "end_s"]).to_csv(path, index=False)
    return path


@pytest.fixture
def plan(trace: Path) -> StudyPlan:
    return StudyPlan(str(trace), cluster="1x0 8c 32g", seeds=2, splits=4, max_oom=0.1, steps=QUICK)


def run(plan: StudyPlan, out: Path, ran: Counter[str] | None = None) -> StudyResult:
    """Run a study; count the steps that were really run."""

    def end(done: running.StepDone) -> None:
        if ran is not None and done.state == "done":
            ran[done.name] += 1

    return run_study(plan, out=out, watching=Watching(end=end), command="prophase study plan.toml")


def test_a_study_goes_from_a_file_to_a_proven_advice(plan: StudyPlan, tmp_path: Path) -> None:
    found = run(plan, tmp_path / "ws")
    assert [one.state for one in found.steps] == ["done"] * 4
    assert found.results["proof"]["verdict"]["outcome"] == "pass"
    assert (found.folder / "recommendation.json").is_file()
    document = to_dict(found.report)
    assert document["provenance"]["settings"]["seeds"] == 2
    assert document["provenance"]["seeds"] == {"all steps": 0}
    assert document["tone"] == "good"
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_second_run_keeps_every_step_and_gives_the_same_report(
    plan: StudyPlan, tmp_path: Path
) -> None:
    first = run(plan, tmp_path / "ws")
    ran: Counter[str] = Counter()
    again = run(plan, tmp_path / "ws", ran)
    assert not ran
    assert to_dict(again.report) == to_dict(first.report)
    assert again.results == first.results


def test_a_changed_setting_runs_only_what_depends_on_it(plan: StudyPlan, tmp_path: Path) -> None:
    run(plan, tmp_path / "ws")
    ran: Counter[str] = Counter()
    found = run(replace(plan, min_saving=0.9), tmp_path / "ws", ran)
    assert set(ran) == {"proof"}
    assert found.results["proof"]["verdict"]["outcome"] == "fail"
    ran.clear()
    run(replace(plan, risk=0.05), tmp_path / "ws", ran)
    assert set(ran) == {"sizing", "proof"}


def test_changed_data_run_everything_again(plan: StudyPlan, trace: Path, tmp_path: Path) -> None:
    run(plan, tmp_path / "ws")
    jobs = pd.read_csv(trace)
    jobs.head(200).to_csv(trace, index=False)
    ran: Counter[str] = Counter()
    run(plan, tmp_path / "ws", ran)
    assert set(ran) == {"import", *QUICK}


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The proof finds no space left, once."""
    whole = steps.STEPS

    def fail(work: StepContext) -> StepOutcome:
        raise StorageError("proof.json: no space left on the device. Free some.")

    broken = tuple(replace(one, run=fail) if one.name == "proof" else one for one in whole)
    monkeypatch.setattr(steps, "STEPS", broken)
    yield
    monkeypatch.setattr(steps, "STEPS", whole)


def test_a_failing_step_is_named_and_a_rerun_goes_on_there(
    plan: StudyPlan, tmp_path: Path, full_disk: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StepFailedError) as failed:
        run(plan, tmp_path / "ws")
    said = str(failed.value)
    assert failed.value.step == "proof"
    assert "step proof (4 of 4)" in said
    assert "no space left" in said
    assert "Finished steps are kept: import, lint, sizing." in said
    monkeypatch.undo()
    ran: Counter[str] = Counter()
    run(plan, tmp_path / "ws", ran)
    assert set(ran) == {"proof"}


@pytest.mark.parametrize("damage", ["lost", "changed"])
def test_an_export_that_is_lost_or_changed_is_put_back(
    plan: StudyPlan, tmp_path: Path, damage: str
) -> None:
    found = run(plan, tmp_path / "ws")
    path = found.folder / "recommendation.json"
    whole = path.read_text()
    path.unlink() if damage == "lost" else path.write_text(whole[:40])
    ran: Counter[str] = Counter()
    run(plan, tmp_path / "ws", ran)
    assert not ran
    assert path.read_text() == whole


def test_a_damaged_result_is_worked_out_again(plan: StudyPlan, tmp_path: Path) -> None:
    run(plan, tmp_path / "ws")
    for path in (tmp_path / "ws" / ".cache" / "study").glob("lint-*.json"):
        path.write_text(path.read_text()[:50])
    ran: Counter[str] = Counter()
    run(plan, tmp_path / "ws", ran)
    assert set(ran) == {"lint"}


def test_what_the_trace_lacks_is_named_and_the_rest_goes_on(
    plan: StudyPlan, trace: Path, tmp_path: Path
) -> None:
    pd.read_csv(trace).drop(columns="memory_peak_gib").to_csv(trace, index=False)
    found = run(replace(plan, steps=(*QUICK, "schedules"), cluster=None), tmp_path / "ws")
    assert "memory_peak_gib" in found.cannot["sizing"]
    assert "memory_peak_gib" in found.cannot["proof"]
    assert "list of nodes" in found.cannot["schedules"]
    assert "What could not be done" in [one.title for one in found.report.all_sections()]


def test_who_never_asked_for_memory_is_told_what_to_ask_for(
    plan: StudyPlan, trace: Path, tmp_path: Path
) -> None:
    pd.read_csv(trace).drop(columns="request_memory_gib").to_csv(trace, index=False)
    found = run(plan, tmp_path / "ws")
    sized = found.results["sizing"]
    assert not sized["requested"]
    assert sized["advised"] > 0
    assert "ask for today" in found.cannot["proof"]
    lines = closing(found, tmp_path / "report.html")
    assert lines[0].endswith("need; no job states any today:")
    assert "->" not in lines[1]
    assert found.report.answer.endswith("Import a history that has them.")
    assert f"set {sized['advised']:,} requests" in json.dumps(to_dict(found.report))


def test_a_full_disk_while_a_result_is_kept_names_the_step(
    plan: StudyPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageError("lint.json: no space left on the device. Free some.")

    monkeypatch.setattr(running.StepCache, "put", full)
    with pytest.raises(StepFailedError, match=r"step lint \(2 of 4\) failed: .*no space left"):
        run(plan, tmp_path / "ws")


def test_a_defect_names_the_steps_that_give_a_report_without_it(
    plan: StudyPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(work: StepContext) -> StepOutcome:
        raise IndexError("list index out of range")

    changed = (replace(one, run=broken) if one.name == "sizing" else one for one in steps.STEPS)
    monkeypatch.setattr(steps, "STEPS", tuple(changed))
    with pytest.raises(StepFailedError, match=r"--debug shows where.*--steps lint$"):
        run(plan, tmp_path / "ws")


def test_a_defect_in_the_report_leaves_all_steps_kept(
    plan: StudyPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("jobs")

    monkeypatch.setattr(running, "study_result", broken)
    with pytest.raises(StepFailedError, match=r"step report \(the last\).* kept: import, lint"):
        run(replace(plan, steps=("lint",)), tmp_path / "ws")


def test_two_studies_in_one_folder_do_not_mix(plan: StudyPlan, tmp_path: Path) -> None:
    with (
        held_alone(tmp_path / "ws"),
        pytest.raises(StepFailedError, match=r"another study is at work .* --out"),
    ):
        run(plan, tmp_path / "ws")
    assert not (tmp_path / "ws").exists()
    run(plan, tmp_path / "ws")


def test_an_import_that_was_killed_before_its_note_was_written_is_done_again(
    plan: StudyPlan, tmp_path: Path
) -> None:
    run(plan, tmp_path / "ws")
    (tmp_path / "ws" / ".cache" / "study" / "import.stamp").unlink()
    ran: Counter[str] = Counter()
    run(plan, tmp_path / "ws", ran)
    assert set(ran) == {"import"}


def test_advice_of_other_data_does_not_stay(plan: StudyPlan, trace: Path, tmp_path: Path) -> None:
    found = run(plan, tmp_path / "ws")
    pd.read_csv(trace).drop(columns="memory_peak_gib").to_csv(trace, index=False)
    run(plan, tmp_path / "ws")
    assert not (found.folder / "recommendation.json").exists()


def test_results_of_a_workspace_go_where_they_are_asked_to(plan: StudyPlan, tmp_path: Path) -> None:
    run(replace(plan, steps=("lint",)), tmp_path / "ws")
    inside = {path.relative_to(tmp_path) for path in (tmp_path / "ws").rglob("*")}
    found = run(replace(plan, trace=str(tmp_path / "ws")), tmp_path / "results")
    assert (tmp_path / "results" / "reports" / "study" / "recommendation.json").is_file()
    assert found.workspace == tmp_path / "ws"
    assert {path.relative_to(tmp_path) for path in (tmp_path / "ws").rglob("*")} == inside


def test_nothing_passes_on_data_that_look_wrong(
    plan: StudyPlan, trace: Path, tmp_path: Path
) -> None:
    jobs = pd.read_csv(trace)
    for column in ("request_memory_gib", "memory_peak_gib"):
        jobs[column] *= 1024
    jobs.to_csv(trace, index=False)
    found = run(replace(plan, cluster=None), tmp_path / "ws")
    assert found.report.tone != "good"
    assert "data look wrong" in found.report.answer
    assert any("memory-unit" in said for said in found.report.limits)


def test_several_systems_in_one_table_are_not_replayed_as_one(
    plan: StudyPlan, trace: Path, tmp_path: Path
) -> None:
    jobs = pd.read_csv(trace)
    jobs["attr_cluster"] = ["east" if row % 3 else "west" for row in range(len(jobs))]
    (tmp_path / "two").mkdir()
    jobs.to_csv(tmp_path / "two" / "jobs.csv", index=False)
    (tmp_path / "two" / "nodes.csv").write_text("node_id,cpu_cores,memory_gib\nn,8,64\n")
    both = replace(plan, trace=str(tmp_path / "two"), cluster=None, steps=("schedules",))
    said = run(both, tmp_path / "ws").cannot["schedules"]
    assert "the trace mixes 2 that share no nodes (jobs: east" in said
    assert "--cluster" in said


def test_nodes_that_hold_no_job_are_told_and_the_advice_is_proven_without_replay(
    plan: StudyPlan, trace: Path, tmp_path: Path
) -> None:
    pd.read_csv(trace).assign(request_gpus=8).to_csv(trace, index=False)
    without = replace(plan, cluster="4x0 8c 64g", steps=("schedules", "proof"))
    found = run(without, tmp_path / "ws")
    assert "8 GPUs; the largest node has 8 cores, 64 GiB, 0 GPUs" in found.cannot["schedules"]
    assert found.results["proof"]["replays"] is None


def test_prices_change_the_proof_alone(plan: StudyPlan, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("gib_hour = 0.01\n")
    priced = replace(plan, prices=str(tmp_path / "prices.toml"))
    run(priced, tmp_path / "ws")
    (tmp_path / "prices.toml").write_text("gib_hour = 0.02\n")
    ran: Counter[str] = Counter()
    run(priced, tmp_path / "ws", ran)
    assert set(ran) == {"proof"}


def test_a_trace_that_is_not_there_fails_the_import(tmp_path: Path) -> None:
    with pytest.raises(StepFailedError, match="there is no such trace") as failed:
        run_study(StudyPlan(str(tmp_path / "none.csv")))
    assert failed.value.exit_code == 2


def test_a_bad_price_file_stops_before_any_work(plan: StudyPlan, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("gib_hour = 'dear'\n")
    with pytest.raises(StepFailedError, match="gib_hour is 'dear'"):
        run(replace(plan, prices=str(tmp_path / "prices.toml")), tmp_path / "ws")
    assert not (tmp_path / "ws").exists()


def test_a_workspace_with_other_tables_is_not_overwritten(
    plan: StudyPlan, trace: Path, tmp_path: Path
) -> None:
    from prophase.trace.import_pipeline import import_trace
    from prophase.trace.workspace import Workspace

    import_trace("csv", trace, Workspace.create(tmp_path / "mine"))
    with pytest.raises(StepFailedError, match="already has jobs"):
        run(plan, tmp_path / "mine")
