"""The pages of the documentation and how their commands are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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


def run_commands(page: Path, folder: Path) -> None:
    """Run the blocks marked ``sh`` one after the other in one empty folder."""
    script = "\n".join(_SHELL.findall(page.read_text(encoding="utf-8")))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, one_process.__file__],
        input=script,
        cwd=folder,
        env={**os.environ, "PATH": path, "PROPHASE_WORKSPACE": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
