from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from prophase.serve.tokens import TokenStore
from prophase.trace.workspace import Workspace


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    return Workspace.create(tmp_path / "ws").folder


def test_a_token_is_printed_once_listed_without_it_and_revoked(
    prophase_here: Run, ws: Path
) -> None:
    made = prophase_here("serve", "token", "add", "ci", "--role", "feedback", "-w", ws)
    secret = made.stdout.strip()
    assert "cannot be shown again" in made.stderr
    found = TokenStore(ws).find(secret)
    assert found is not None
    assert (found.name, found.role) == ("ci", "feedback")
    listed = prophase_here("serve", "token", "list", "-w", ws)
    assert "ci" in listed.stdout
    assert secret not in listed.stdout
    assert prophase_here("serve", "token", "revoke", "ci", "-w", ws).returncode == 0
    assert TokenStore(ws).find(secret) is None
    again = prophase_here("serve", "token", "revoke", "ci", "-w", ws)
    assert again.returncode == 2
    assert "there is no token 'ci'" in again.stderr


def test_a_token_may_last_for_ever(prophase_here: Run, ws: Path) -> None:
    said = prophase_here("serve", "token", "add", "ci", "--days", "0", "-w", ws, "-f", "json")
    assert json.loads(said.stdout)["expires_at"] is None


def test_no_tokens_means_that_nobody_may(prophase_here: Run, ws: Path) -> None:
    assert "nobody may ask" in prophase_here("serve", "token", "list", "-w", ws).stdout


def test_an_unknown_role_is_refused(prophase_here: Run, ws: Path) -> None:
    said = prophase_here("serve", "token", "add", "ci", "--role", "boss", "-w", ws)
    assert said.returncode == 2
    assert "Known: read, feedback, admin" in said.stderr
