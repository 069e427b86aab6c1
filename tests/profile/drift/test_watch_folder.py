from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from tests.profile.drift.made_jobs import HISTORY, copied, jobs_of_kinds

from prophase.errors import (
    InputError,
    MissingColumnError,
    ModelFileError,
    ParameterError,
    StorageError,
    WorkspaceError,
)
from prophase.profile.drift.watch_folder import WatchFolder


def killed_at(limit: int, done: int, total: int) -> None:
    if done >= limit:
        raise KeyboardInterrupt


def test_a_run_that_is_killed_and_goes_on_ends_as_one_that_was_not(
    watched, profiler, tmp_path: Path
) -> None:
    whole, _, jobs = watched
    folder = WatchFolder(tmp_path / "watch", jobs[:HISTORY], "h")
    folder.start({"method": "recent-median"}, profiler)
    folder.take(jobs[HISTORY:])

    for limit in (260, 400):
        with pytest.raises(KeyboardInterrupt):
            folder.go_on(folder.load(), partial(killed_at, limit))
    folder.go_on(folder.load())
    state = "state.model"
    assert (folder.folder / state).read_bytes() == (whole.folder / state).read_bytes()
    told = [{**one, "logged_at": ""} for one in folder.log.lines()]
    assert told == [{**one, "logged_at": ""} for one in whole.log.lines()]


def test_jobs_that_are_given_twice_count_once(watched, tmp_path: Path) -> None:
    whole, _, jobs = watched
    folder = copied(whole, tmp_path / "watch")
    before = (folder.folder / "state.model").read_bytes()
    taken = folder.take(jobs[HISTORY - 100 :])
    assert (taken.new, taken.known) == (0, len(jobs) - HISTORY + 100)
    assert folder.go_on(folder.load()) == []
    assert (folder.folder / "state.model").read_bytes() == before
    more = jobs_of_kinds(3_000)[2_700:2_710]
    twice = folder.take(more.iloc[[0, 0, 1]])
    assert (twice.new, twice.repeated) == (2, 1)


def test_undo_restores_the_very_bytes_and_later_steps_get_new_numbers(
    watched, tmp_path: Path
) -> None:
    whole, watcher, jobs = watched
    folder = copied(whole, tmp_path / "watch")
    steps = folder.log.standing()
    first = steps[0]
    assert folder.undo(first) == steps
    kept = (folder.folder / f"before-{first:04d}.model").read_bytes()
    assert (folder.folder / "state.model").read_bytes() == kept
    assert folder.log.standing() == []
    assert folder.log.lines()[-1]["undoes"] == steps
    restored = folder.load()
    numbers = {one.profile for one in restored.profiler_.profiles_}
    assert numbers == {one.profile for one in watcher.profiler_.profiles_} - {
        new for step in watcher.steps_ for new in step.new
    } | {gone for step in watcher.steps_ for gone in step.retired}
    assert restored.next_step_ == max(steps) + 2
    assert restored.next_profile_ > max(new for step in watcher.steps_ for new in step.new)
    folder.go_on(restored)
    assert restored.watched_ == len(jobs) - HISTORY


def test_every_step_is_a_line_of_json_with_reason_and_statistics(watched) -> None:
    whole, watcher, _ = watched
    lines = (whole.folder / "steps.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == len(watcher.steps_)
    entry = json.loads(lines[0])
    assert entry["reason"]
    assert len(entry["data_hash"]) == 64
    assert entry["logged_at"].startswith("20")
    assert set(entry["before"]) == {"jobs", "error", "outside", "new"}


def test_a_step_that_is_not_there_cannot_be_undone(watched) -> None:
    whole, _, _ = watched
    with pytest.raises(ParameterError, match=r"there is no step 99 to undo\. Steps that stand: 1"):
        whole.undo(99)


def test_other_jobs_in_the_workspace_or_a_damaged_state_are_refused(
    watched, tmp_path: Path
) -> None:
    whole, _, _ = watched
    with pytest.raises(WorkspaceError, match=r"imported again.*--restart"):
        WatchFolder(whole.folder, whole.history, "other").load()
    folder = copied(whole, tmp_path / "watch")
    for path in folder.folder.glob("jobs-*.parquet"):
        path.unlink()
    with pytest.raises(WorkspaceError, match="are missing"):
        folder.load()
    state = folder.folder / "state.model"
    state.write_bytes(state.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match="damaged"):
        folder.load()
    folder.clear()
    assert not folder.started


def test_jobs_without_a_name_are_refused(tmp_path: Path) -> None:
    jobs = jobs_of_kinds(50)
    folder = WatchFolder(tmp_path / "watch", jobs, "h")
    with pytest.raises(MissingColumnError, match="no job_id"):
        folder.take(jobs.drop(columns="job_id"))
    jobs.loc[3, "job_id"] = None
    with pytest.raises(InputError, match="1 row has no job_id"):
        folder.take(jobs)


def test_no_finished_jobs_are_no_batch(tmp_path: Path) -> None:
    jobs = jobs_of_kinds(50)
    folder = WatchFolder(tmp_path / "watch", jobs, "h")
    assert folder.take(jobs[:0]).new == 0
    assert len(folder.given()) == 0


def test_a_step_cut_off_by_a_crash_is_logged_again(watched, tmp_path: Path) -> None:
    whole, _, _ = watched
    folder = copied(whole, tmp_path / "watch")
    told = folder.log.lines()
    assert told
    text = folder.log.path.read_bytes()
    for cut in (1, 2, 40):
        folder.log.path.write_bytes(text[:-cut])
        # without its end of line a step is whole all the same
        assert len(folder.log.lines()) == len(told) - (cut > 1)
        folder.load()
        again = WatchFolder(folder.folder, whole.history, "h").log.lines()
        assert [one["step"] for one in again] == [one["step"] for one in told]
    folder.log.add(())
    folder.log.path.write_bytes(text.rstrip(b"\n"))
    folder.log.undone([99], jobs=1)
    assert len(folder.log.lines()) == len(told) + 1


def test_a_batch_that_cannot_be_kept_is_told_in_words(watched, tmp_path: Path, monkeypatch) -> None:
    whole, _, _ = watched
    folder = copied(whole, tmp_path / "watch")
    before = len(folder.given())

    def refuse(self: Path, **options: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StorageError, match="Input/output error"):
        folder.take(jobs_of_kinds(3_000)[2_700:2_710])
    with pytest.raises(StorageError, match="Input/output error"):
        folder.clear()
    assert len(folder.given()) in (before, before + 10)
