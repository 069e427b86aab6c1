from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import StorageError, WorkspaceError
from prophase.trace import Workspace

JOBS = pd.DataFrame({"job_id": ["a", "b"], "duration_s": [1.0, 2.0]})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace.create(tmp_path / "ws")
    made.store_frames({"jobs": JOBS}, source="test", source_hash="h1", seed=7, command="c")
    return made


def test_a_table_comes_back_as_it_was_stored_with_its_story(workspace: Workspace) -> None:
    pd.testing.assert_frame_equal(workspace.read("jobs")[[*JOBS]], JOBS)
    entry = workspace.tables["jobs"]
    assert (entry.rows, entry.columns, entry.seed) == (2, ("job_id", "duration_s", "kind"), 7)
    assert (entry.source, entry.source_hash, entry.command) == ("test", "h1", "c")
    workspace.check_file("jobs")


def test_making_a_workspace_twice_changes_nothing(workspace: Workspace) -> None:
    again = Workspace.create(workspace.folder)
    pd.testing.assert_frame_equal(again.read("jobs")[[*JOBS]], JOBS)


def test_other_data_never_replaces_a_table_unasked(workspace: Workspace) -> None:
    with pytest.raises(WorkspaceError, match=r"--replace .*, or choose another folder"):
        workspace.store_frames({"jobs": JOBS}, source="test", source_hash="h2")
    workspace.store_frames({"jobs": JOBS[:1]}, source="t", source_hash="h2", replace=True)
    assert len(workspace.read("jobs")) == 1
    assert len(list((workspace.folder / "tables").iterdir())) == 1


def test_a_new_table_leaves_the_others_alone(workspace: Workspace) -> None:
    workspace.store_frames(
        {"nodes": pd.DataFrame({"node_id": ["n"]})}, source="test", source_hash="h3"
    )
    assert set(workspace.tables) == {"jobs", "nodes"}
    pd.testing.assert_frame_equal(workspace.read("jobs")[[*JOBS]], JOBS)


def test_an_absent_table_is_named_with_the_command_that_makes_it(workspace: Workspace) -> None:
    with pytest.raises(
        WorkspaceError, match=r"no table 'job'\. Did you mean 'jobs'\? It has: jobs\."
    ):
        workspace.read("job")


def test_a_folder_that_is_no_workspace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="prophase init"):
        Workspace(tmp_path)


def test_a_changed_table_file_is_noticed(workspace: Workspace) -> None:
    path = workspace.path_of("jobs")
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(WorkspaceError, match="was changed"):
        workspace.check_file("jobs")


def test_a_damaged_list_of_tables_is_refused_with_what_to_do(workspace: Workspace) -> None:
    (workspace.folder / "tables.json").write_text("{half")
    with pytest.raises(WorkspaceError, match="damaged"):
        _ = workspace.tables
    (workspace.folder / "tables.json").write_text(json.dumps({"tables": {"jobs": {"name": 1}}}))
    with pytest.raises(WorkspaceError, match="damaged"):
        _ = workspace.tables


def test_a_mistake_in_the_settings_names_the_line(workspace: Workspace) -> None:
    (workspace.folder / "prophase.toml").write_text("engine = \n")
    with pytest.raises(WorkspaceError, match="line 1"):
        _ = workspace.settings


def test_a_second_writer_has_to_wait(workspace: Workspace) -> None:
    with (
        workspace.writing(),
        pytest.raises(WorkspaceError, match="another command is writing"),
        Workspace(workspace.folder).writing(),
    ):
        pass


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="file"):
        Workspace.create(tmp_path / "file" / "ws")


@pytest.mark.parametrize("left", [0, 3, 200])
def test_a_table_file_that_was_cut_is_named(workspace: Workspace, left: int) -> None:
    path = workspace.path_of("jobs")
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(WorkspaceError, match=r"jobs-.*\.parquet: is missing or was changed"):
        workspace.read("jobs")


def test_a_table_file_that_is_gone_is_named(workspace: Workspace) -> None:
    workspace.path_of("jobs").unlink()
    with pytest.raises(WorkspaceError, match=r"jobs-.*\.parquet: is missing or was changed"):
        workspace.read("jobs")
