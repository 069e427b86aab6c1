"""What released versions wrote is read by this one: tables, models, databases, tokens, runs."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.backup import restore
from prophase.serve.tokens import TokenStore

ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
KEPT = sorted(FIXTURES.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def fixture_tool() -> ModuleType:
    found = importlib.util.spec_from_file_location("kept", ROOT / "tools" / "upgrade_fixture.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_something_is_kept() -> None:
    assert KEPT


@pytest.mark.parametrize("archive", KEPT, ids=lambda path: path.name)
def test_what_a_version_wrote_answers_as_it_did(
    archive: Path, tmp_path: Path, fixture_tool: ModuleType
) -> None:
    restore(archive, tmp_path / "ws")
    kept = archive.with_suffix("").with_suffix(".json")
    assert fixture_tool.answers(tmp_path / "ws") == json.loads(kept.read_text())


def test_tokens_and_tasks_that_were_kept_in_files_move_into_the_database(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "kept-in-files", tmp_path / "service")
    # twice: from the files, and from the database that took them over
    for _ in range(2):
        tokens = TokenStore(tmp_path, open=True)
        assert [(one.name, one.role, one.tenants) for one in tokens.all()] == [
            ("reader", "read", ()), ("nlp", "feedback", ("nlp",)),
        ]  # fmt: skip
        assert not tokens.is_open
        tokens.close()
        tasks = BackgroundTasks(tmp_path)
        waiting, done = tasks.all()
        assert (waiting.kind, waiting.state, waiting.started_by) == ("simulate", "failed", "bob")
        assert waiting.error is not None
        assert "the service was stopped" in waiting.error
        assert (done.kind, done.state, done.started_by) == ("size", "done", "ann")
        result = tasks.get(done.id).result
        assert result is not None
        assert result["version"] == "0.1.0"
        tasks.close()
    assert not list((tmp_path / "service" / "tasks").glob("*.json"))
