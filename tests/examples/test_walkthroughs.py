"""The walk-throughs run as they stand, two for each source."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "walkthroughs"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_walk_through_runs_and_tells_something(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 2


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ("polaris_1_explore", {"sample.csv", "profiles.model", "profiles"}),
        ("polaris_2_evaluate", {"train.csv", "test.csv", "scores.csv", "error-boxes.png"}),
    ],
)
def test_exploration_and_evaluation_keep_what_they_found(
    script: str, kept: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path / "kept")])
    runpy.run_path(str(FOLDER / f"{script}.py"), run_name="__main__")
    assert kept <= {path.name for path in (tmp_path / "kept").iterdir()}


def test_there_are_two_for_each_source_and_the_readme_names_them() -> None:
    sources = [script.stem.split("_")[0] for script in SCRIPTS]
    assert {name: sources.count(name) for name in set(sources)} == dict.fromkeys(
        ("polaris", "ai4dl", "thesis", "mlaas"), 2
    )
    told = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(script.name in told for script in SCRIPTS)
