from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


@pytest.fixture(scope="module")
def lock() -> Any:
    found = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_locked_versions_meet_every_declared_dependency(lock: Any) -> None:
    for name, wanted in lock.declared().items():
        locked = lock.pins((ROOT / "requirements" / name).read_text())
        assert wanted
        assert lock.behind(wanted, locked) == []


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_lock_file_holds_pinned_versions_alone(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not re.match(r"\s*(#|$)", line)]
    assert len(lines) > 50
    for line in lines:
        assert re.fullmatch(r"[a-z0-9._\[\]-]+==[\w.]+( ; .+)?", line)
    assert "://" not in path.read_text()


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
@pytest.mark.parametrize("minor", range(11, 15))
def test_every_python_version_gets_one_version_of_each_library(path: Path, minor: int) -> None:
    here = {"python_full_version": f"3.{minor}.9", "python_version": f"3.{minor}"}
    lines = [one for one in path.read_text().splitlines() if "==" in one and one[0] not in " #"]
    chosen = [
        one.name for one in map(Requirement, lines) if not one.marker or one.marker.evaluate(here)
    ]
    assert sorted(set(chosen)) == sorted(chosen)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("lib>=1,<2", []),
        ("Other-Lib[more]>=1", ["Other-Lib is missing"]),
        ("lib>=2", ["lib is 1.5, asked for is >=2"]),
    ],
)
def test_what_a_lock_does_not_meet_is_named(lock: Any, asked: str, told: list[str]) -> None:
    assert (
        lock.behind([Requirement(asked)], lock.pins("lib==1.5 ; sys_platform == 'linux'\n")) == told
    )


def test_a_lock_behind_pyproject_is_told_with_the_command_that_renews_it(
    lock: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    declared = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(declared.replace('"numpy>=2"', '"numpy>=99"'))
    assert lock.check(tmp_path) == 1
    told = capsys.readouterr().err
    assert "requirements/dev.txt is behind: numpy is " in told
    assert "asked for is >=99.\nRun `make lock` and commit the file." in told
