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
def test_without_the_advisory_service_kept_advisories_are_looked_up(
    audit: Any, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    assert audit.judge(said) == 0
    text = capsys.readouterr().out
    assert "cannot be reached" in text
    assert "of none in the version installed" in text


def test_a_weakness_on_record_fails_without_a_network(
    audit: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = json.loads(audit.SNAPSHOT.read_text())
    assert audit.look_up({"starlette": "0.40.0", "jinja2": "3.1.6"}, kept) == 1
    said = capsys.readouterr().out
    assert "starlette 0.40.0: CVE-2025-54121; mended in 0.47.2." in said
    assert "jinja2" not in said


def test_kept_advisories_make_sense(audit: Any) -> None:
    from packaging.specifiers import SpecifierSet

    kept = json.loads(audit.SNAPSHOT.read_text())
    assert len(kept["advisories"]) > 40
    for one in kept["advisories"]:
        assert not SpecifierSet(one["affected"]).contains(one["fixed"]), one


def test_spans_of_osv_become_versions(audit: Any) -> None:
    events = [{"introduced": "0"}, {"fixed": "1.2"}, {"introduced": "2.0"}, {"fixed": "2.1"}]
    assert audit._spans([{"type": "ECOSYSTEM", "events": events}]) == [
        {"affected": "<1.2", "fixed": "1.2"},
        {"affected": ">=2.0,<2.1", "fixed": "2.1"},
    ]
    events = [{"introduced": "1.0"}, {"last_affected": "1.5"}, {"introduced": "3.0"}]
    assert audit._spans([{"type": "ECOSYSTEM", "events": events}]) == [
        {"affected": ">=1.0,<=1.5", "fixed": "what follows 1.5"},
        {"affected": ">=3.0", "fixed": "no version yet"},
    ]
    assert audit._spans([{"type": "GIT", "events": events}]) == []


def test_a_checkout_is_as_old_as_its_newest_advisory_but_none_is_of_tomorrow(
    audit: Any, tmp_path: Path
) -> None:
    for name, day in (("a", "2024-01-02"), ("b", "2025-03-04"), ("c", "9999-07-09")):
        (tmp_path / "vulns" / name).mkdir(parents=True)
        (tmp_path / "vulns" / name / "one.yaml").write_text(f"modified: '{day}T00:00:00Z'\n")
    assert audit._last_change(tmp_path) == "2025-03-04"
