from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def audit() -> Any:
    path = Path(__file__).parents[2] / "tools" / "audit.py"
    found = importlib.util.spec_from_file_location("audit", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def told(*libraries: dict[str, Any]) -> str:
    return json.dumps({"dependencies": list(libraries), "fixes": []})


def test_a_known_weakness_fails(audit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    weak = {"id": "CVE-1", "fix_versions": ["1.1"]}
    assert audit.judge(told({"name": "lib", "version": "1.0", "vulns": [weak]})) == 1
    assert "lib 1.0: CVE-1; mended in 1.1." in capsys.readouterr().out


def test_sound_libraries_pass(audit: Any) -> None:
    assert audit.judge(told({"name": "lib", "version": "1.0", "vulns": []})) == 0


@pytest.mark.parametrize("said", ["", told({"name": "lib", "skip_reason": "not found"})])
def test_without_the_advisory_service_it_says_so_and_passes(
    audit: Any, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    assert audit.judge(said) == 0
    assert "were not audited" in capsys.readouterr().out
