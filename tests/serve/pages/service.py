"""A real service on a free port of loopback, started as its users start it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROPHASE = "from prophase.cli.main import run; run()"


@contextmanager
def serving(workspace: Path) -> Iterator[str]:
    """Run prophase serve and return the address it prints; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROPHASE, "serve", "start", str(workspace), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found is not None, said + process.stderr.read()
        yield found[0]
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()
