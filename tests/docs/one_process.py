"""Run the commands of a page in one process: starting again takes longer than most of them.

python one_process.py < script; ends with the code of the first command that fails. Commands of
prophase and pieces of Python run here, everything else in a shell of its own.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

_HERE_TEXT = re.compile(r"<<'?(\w+)'?")
_COMMAND = re.compile(
    r"""prophase\ (?P<words>(?:[^|&;<>$"']|"[^"$]*"|'[^']*')*)  # nothing that a shell expands
    (?:>\ (?P<file>\S+)\s*)?
    (?:\|\|\ (?P<otherwise>.*))?$""",
    re.VERBOSE,
)
_PYTHON = re.compile(r"python - <<'END'\n(?P<code>.*)\nEND", re.DOTALL)


def statements(script: str) -> list[str]:
    """Return the commands one by one, each with its here-text; those for the shell together.

    Examples
    --------
    >>> statements("ls \\\\\\n -l\\nhead x\\nprophase lint ws > all\\ncat <<'END'\\nprophase\\nEND")
    ['ls   -l\\nhead x', 'prophase lint ws > all', "cat <<'END'\\nprophase\\nEND"]
    """
    single = [one for one in _single(script.replace("\\\n", " ")) if one.strip()]
    groups = [(ours, list(group)) for ours, group in groupby(single, key=_is_ours)]
    return [one for ours, held in groups for one in (held if ours else ["\n".join(held)])]


def _single(script: str) -> Iterator[str]:
    lines = iter(script.splitlines())
    for line in lines:
        held = [line]
        if opened := _HERE_TEXT.search(line):
            for inner in lines:
                held.append(inner)
                if inner == opened.group(1):
                    break
        yield "\n".join(held)


def _is_ours(statement: str) -> bool:
    return bool(_COMMAND.match(_uncommented(statement)) or _PYTHON.match(statement))


def _uncommented(line: str) -> str:
    return re.sub(r"\s+# .*$", "", line)


def run(statement: str) -> int:
    """Run one statement and return its code."""
    if told := _COMMAND.match(_uncommented(statement)):
        code = _run_prophase(told["words"], told["file"])
        if code and told["otherwise"]:
            return _in_shell(f"(exit {code}) || {told['otherwise']}")
        return code
    if python := _PYTHON.match(statement):
        exec(compile(python["code"], "<page>", "exec"), {"__name__": "__main__"})
        return 0
    return _in_shell(statement)


def _run_prophase(words: str, file: str | None) -> int:
    from prophase.cli.main import run as prophase

    sys.argv = ["prophase", *shlex.split(words)]
    with contextlib.ExitStack() as stack:
        if file:
            out = stack.enter_context(Path(file).open("w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(out))
        try:
            prophase()
        except SystemExit as leave:
            return int(leave.code or 0)
    return 0


def _in_shell(script: str) -> int:
    sys.stdout.flush()
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], check=False).returncode


def main() -> int:
    """Run the statements of the standard input."""
    for statement in statements(sys.stdin.read()):
        if code := run(statement):
            print(f"failed: {statement}", file=sys.stderr)
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
