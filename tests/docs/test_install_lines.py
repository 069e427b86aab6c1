"""Every install line of the README and the documentation works in a fresh environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT

_LINE = re.compile(r"(?:pip|uv tool) install ([^`\n#]*prophase[^`\n#]*)")
_UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")


def _asked(text: str) -> Iterator[str]:
    for found in _LINE.findall(text):
        words = shlex.split(found.split("&&")[0].rstrip(" .,;)"))
        # a file or folder of this checkout is no line for users
        if not any(one.startswith("./") or "/" in one for one in words):
            yield shlex.join(words)


LINES = sorted({line for page in PAGES for line in _asked(page.read_text(encoding="utf-8"))})


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel as a release makes it."""
    folder = tmp_path_factory.mktemp("wheel")
    if not Path(_UV).exists():
        pytest.skip("no uv: pip install uv")
    _uv("build", "--wheel", "--quiet", "--out-dir", str(folder), str(ROOT))
    return folder


def _uv(*words: str) -> None:
    """Run uv from its cache, which the installation of the tests has filled."""
    env = {**os.environ, "UV_OFFLINE": "1"}
    done = subprocess.run([_UV, *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def installed(folder: Path, wheel: Path, asked: str) -> Path:
    """Install into a fresh environment and return its programs."""
    _uv("venv", "--quiet", "--python", sys.executable, str(folder))
    python = folder / "bin" / "python"
    _uv(
        *("pip", "install", "--quiet", "--python", str(python), "--find-links", str(wheel)),
        *("--constraint", str(ROOT / "requirements" / "dev.txt"), *shlex.split(asked)),
    )
    return folder / "bin"


def test_the_readme_says_how_to_install() -> None:
    assert "prophase" in LINES
    assert "'prophase[serve]'" in LINES


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where environments are made, one after the other.

    At one place each finds the bytecode that the one before has compiled: most libraries are the
    same, and compiling them takes longer than all that is tried here.
    """
    return tmp_path_factory.mktemp("installed")


@pytest.mark.parametrize("asked", LINES)
def test_an_install_line_gives_a_program_that_starts(
    asked: str, wheel: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(place / "env", ignore_errors=True)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(place / "bytecode"))
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.delenv(name, raising=False)
    programs = installed(place / "env", wheel, asked)
    if "--no-deps" in asked:
        words = [str(programs / "python"), "-c", "import prophase"]
    else:
        words = [str(programs / "prophase"), "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if "serve" in asked:
        _serves(programs, str(place / "ws"))


def _serves(programs: Path, ws: str) -> None:
    if not Path(ws).exists():
        make = [str(programs / "prophase"), "synth", "pai", "--jobs", "60", "--days", "1"]
        subprocess.run([*make, "--out", ws], check=True, capture_output=True)
    with _running([str(programs / "prophase"), "serve", ws, "--port", "0", "--open"]) as address:
        assert _status(f"{address}/healthz") == 200
        assert _status(f"{address}/runs") == 200


def _status(address: str) -> int:
    """Return what a page answers; the address is printed a moment before it is served."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code
        except urllib.error.URLError:
            time.sleep(0.1)
    return 0


@contextmanager
def _running(words: list[str]) -> Iterator[str]:
    """Start a service, and end it."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            found = re.search(r"http://[0-9.]+:[1-9][0-9]*", line)
            if found:
                yield found.group()
                return
        pytest.fail("".join(said))
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()
