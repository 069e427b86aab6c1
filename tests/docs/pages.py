"""The pages of the documentation and how their commands are run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.docs import one_process

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_COMMANDS = [page for page in PAGES if _SHELL.search(page.read_text(encoding="utf-8"))]
GUIDES = [page for page in WITH_COMMANDS if page.parent.name == "guides"]
OTHERS = [page for page in WITH_COMMANDS if page not in GUIDES]


def page_name(page: Path) -> str:
    """Return how a page is called in the list of tests."""
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def run_commands() -> Iterator[Callable[[Path, Path], None]]:
    """Run the blocks of a page marked ``sh`` one after the other in one empty folder."""
    with subprocess.Popen(
        [sys.executable, one_process.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PROPHASE_WORKSPACE": ""}

        def run(page: Path, folder: Path) -> None:
            said = folder.with_suffix(".said")
            asked = {
                "script": "\n".join(_SHELL.findall(page.read_text(encoding="utf-8"))),
                "folder": str(folder),
                "environment": environment,
                "said": str(said),
            }
            print(json.dumps(asked), file=process.stdin, flush=True)
            code = process.stdout.readline().strip()
            assert code == "0", f"{code}\n{said.read_text(encoding='utf-8')}"

        yield run
