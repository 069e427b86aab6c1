"""A real service on a free port of loopback, started as its users start it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

_PROPHASE = "from prophase.cli.main import run; run()"
#: a busy machine takes its time
_PATIENCE_S = 180.0


@contextmanager
def serving(workspace: Path) -> Iterator[str]:
    """Run prophase serve and return the address it prints; it ends with the block."""
    with TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROPHASE, "serve", "start", workspace, "--port", "0", "--open"],
            stderr=said,
        )
        try:
            yield _address(process, said)
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise


def _address(process: subprocess.Popen[bytes], said: IO[str]) -> str:
    until = time.monotonic() + _PATIENCE_S
    words = ""
    while time.monotonic() < until and process.poll() is None:
        said.seek(0)
        words = said.read()
        found = re.search(r"http://127\.0\.0\.1:\d+(?=/)", words)
        if found is not None:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"the service did not start: {words}")
