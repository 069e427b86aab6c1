"""Run the commands of a page in one process: starting again takes longer than most of them.

python one_process.py loads what most commands need, then reads a page per line, as JSON:
``script``, ``folder``, ``environment`` and ``said`` (the file for what it prints). Each runs in
a fork, whose code is the answer: that of the first command that fails. Commands of prophase and
pieces of Python run there, everything else in a shell of its own.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
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


def run_script(script: str) -> int:
    """Run the statements of a script and return the code of the first that fails, or 0."""
    for statement in statements(script):
        if code := run(statement):
            print(f"failed: {statement}", file=sys.stderr)
            return code
    return 0


def _in_fork(script: str, folder: str, environment: dict[str, str], said: str) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        signal.alarm(_MOST_S)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        code = run_script(script)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


#: a page that takes longer than this hangs
_MOST_S = 300
#: what commands load, and none of them starts a thread by being loaded
_NEEDED = (
    "prophase.cli.main", "prophase.study.pipeline", "prophase.plots.result_files", "duckdb",
    "scipy.optimize", "scipy.stats", "sklearn.cluster", "sklearn.ensemble", "xgboost",
)  # fmt: skip


def main() -> None:
    """Run the pages that are asked for, one after the other."""
    from prophase import workers
    from prophase.sim.compilation import compile_all

    for name in _NEEDED:
        import_module(name)
    compile_all()
    # the workers of the tests hold all cores: no process more where nobody asks for one
    workers._ALONE_S = 600.0
    gc.freeze()
    for line in sys.stdin:
        print(_in_fork(**json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
