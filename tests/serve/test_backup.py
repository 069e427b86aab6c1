"""Backup and restore, tried by destroying what was backed up."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from tests.cli.conftest import Run
from tests.cli.conftest import prophase_here as prophase_here
from tests.runs.conftest import new_postgres as new_postgres
from tests.runs.conftest import postgres_server as postgres_server
from tests.serve.conftest import Serve

from prophase.errors import FormatError, RefusedError, WorkspaceError
from prophase.runs.campaign import Campaign
from prophase.runs.states import BRANCHES
from prophase.serve.backup import back_up, restore
from prophase.serve.tokens import TokenStore
from prophase.study.feedback.store import FeedbackStore
from prophase.trace.workspace import Workspace

QUESTION = {"jobs": [{"user": "u1", "gpus": 1}], "targets": ["duration_s"]}
PIPELINE = """
name: small
scenario: [size]
tasks:
  first: {command: "true", memory: 256MiB}
"""


def ask(client: TestClient, secret: str) -> object:
    said = client.post("/v1/predict", json=QUESTION, headers={"authorization": f"Bearer {secret}"})
    return said.json()["predictions"]


def test_a_destroyed_workspace_answers_as_before(
    workspace: Path, serve: Serve, tmp_path: Path
) -> None:
    secret = TokenStore(workspace).add("ann", "admin")
    client = serve()
    job = {"job_id": "1", "duration_s": 5}
    client.post("/v1/observe", json={"jobs": [job]}, headers={"authorization": f"Bearer {secret}"})
    before = ask(client, secret)
    # while the service runs and holds its database open
    made = back_up(workspace, tmp_path / "kept.tar.gz")
    tables = {name: Workspace(workspace).read(name) for name in Workspace(workspace).tables}
    client.__exit__()
    shutil.rmtree(workspace)
    assert restore(tmp_path / "kept.tar.gz", workspace).files == made.files
    for name, table in tables.items():
        assert Workspace(workspace).read(name).equals(table)
    again = FeedbackStore(workspace)
    assert again.since(0) == [(1, {"job_id": "1", "duration_s": 5.0})]
    assert ask(serve(open=False), secret) == before


def campaign_with_runs(folder: Path, database: str | None = None) -> Campaign:
    folder.mkdir(parents=True)
    (folder / "p.yaml").write_text(PIPELINE)
    (folder / "s.yaml").write_text("scenarios: [{scenario: a, size: 1}]")
    campaign = Campaign.create(folder / "c", folder / "p.yaml", database=database)
    campaign.register(folder / "s.yaml", ["2024-01-01..2024-01-05"])
    (claim, *_) = campaign.store.claim(BRANCHES["deploy"], "w", most=2)
    campaign.store.advance(claim, "triggered", dag_id="d")
    return campaign


def told(campaign: Campaign) -> object:
    runs = campaign.store.runs()
    return [(run, campaign.store.history(run.id)) for run in runs]


def test_a_destroyed_campaign_in_a_file_goes_on(tmp_path: Path) -> None:
    campaign = campaign_with_runs(tmp_path / "home")
    before = told(campaign)
    back_up(campaign.folder, tmp_path / "c.tar.gz")
    campaign.database.close()
    shutil.rmtree(campaign.folder)
    restore(tmp_path / "c.tar.gz", campaign.folder)
    again = Campaign.open(campaign.folder)
    assert told(again) == before
    again.database.close()


def test_a_destroyed_server_goes_on_from_a_backup(
    tmp_path: Path, new_postgres: Callable[[], str]
) -> None:
    campaign = campaign_with_runs(tmp_path / "home", new_postgres())
    before = told(campaign)
    made = back_up(campaign.folder, tmp_path / "c.tar.gz")
    assert made.rows > 10
    with pytest.raises(RefusedError, match="has runs already"):
        restore(tmp_path / "c.tar.gz", tmp_path / "other")
    shutil.rmtree(campaign.folder)
    with campaign.database.engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    campaign.database.close()
    restore(tmp_path / "c.tar.gz", campaign.folder)
    again = Campaign.open(campaign.folder)
    assert told(again) == before
    # numbers of new rows go on where the old ones ended
    again.register(tmp_path / "home" / "s.yaml", ["2024-02-01"])
    assert len(again.store.runs()) == 6
    again.database.close()


def test_an_archive_that_was_changed_or_cut_off_makes_nothing(tmp_path: Path) -> None:
    folder = Workspace.create(tmp_path / "ws").folder
    (folder / "note.txt").write_text("hello " * 1000)
    archive = tmp_path / "ws.tar.gz"
    back_up(folder, archive)
    whole = archive.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:200] + b"\0\0" + whole[202:], b"nothing"):
        archive.write_bytes(damaged)
        with pytest.raises(FormatError):
            restore(archive, tmp_path / "again")
        assert not (tmp_path / "again").exists()
    assert {one.name for one in tmp_path.iterdir()} == {"ws", "ws.tar.gz"}


@pytest.mark.parametrize("name", ["../outside", "/etc/outside"])
def test_an_archive_cannot_write_elsewhere(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "evil.tar.gz"
    with tarfile.open(archive, "w:gz") as held:
        entry = tarfile.TarInfo(name)
        entry.size = 1
        held.addfile(entry, io.BytesIO(b"x"))
    with pytest.raises(FormatError, match="no place in a backup"):
        restore(archive, tmp_path / "again")


def test_nothing_that_is_there_is_overwritten(tmp_path: Path) -> None:
    folder = Workspace.create(tmp_path / "ws").folder
    back_up(folder, tmp_path / "ws.tar.gz")
    with pytest.raises(RefusedError, match="is not empty"):
        restore(tmp_path / "ws.tar.gz", folder)
    with pytest.raises(WorkspaceError, match="neither a workspace"):
        back_up(tmp_path, tmp_path / "x.tar.gz")


def test_the_commands_say_what_they_did(prophase_here: Run, tmp_path: Path) -> None:
    folder = Workspace.create(tmp_path / "ws").folder
    said = prophase_here("serve", "backup", folder, tmp_path / "ws.tar.gz")
    assert said.returncode == 0, said.stderr
    said = prophase_here("serve", "restore", tmp_path / "ws.tar.gz", tmp_path / "again")
    assert said.returncode == 0, said.stderr
    assert "is as it was at" in said.stderr
    assert (tmp_path / "again" / "prophase.toml").is_file()
