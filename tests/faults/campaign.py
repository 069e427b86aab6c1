"""Faults of files at every point of what changes a workspace: is it old or new, never half?

    python -m tests.faults.campaign [--operation NAME] [--kind KIND] [--every N] [--seed N]

``faults.c`` stands before the C library and lets the Nth change below the workspace fail: no
space, an I/O error, a kill before it, a write that is torn in half, a slow one. Each case runs in a
fork of one process that has loaded everything. Afterwards every table and model must be readable
and be the one before or the one after, a failure must have been told in words, and the same
command must then succeed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

KINDS = ("enospc", "eio", "kill", "torn", "slow")
#: how a case may end: told in words (1, 2), killed by us, or done
_TOLD, _TRACEBACK = (1, 2), 99
#: loaded before the forks; nothing of them is used there, as threads do not survive a fork
_LOADED = (
    "duckdb", "ibis", "pandas", "pyarrow.parquet", "sklearn.cluster", "prophase.cli.main",
    "prophase.cli.import_", "prophase.cli.learn", "prophase.cli.watch", "prophase.cli.study",
    "prophase.serve.loaded_workspace", "prophase.trace.import_pipeline",
)  # fmt: skip
SOURCE = Path(__file__).with_name("faults.c")


def built(folder: Path) -> Path:
    """Compile the library that makes faults."""
    library = folder / "faults.so"
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True
    )
    return library


@dataclass(frozen=True)
class Operation:
    """A command that changes a workspace."""

    name: str
    #: makes the workspace that the command begins with
    before: Callable[[Path], object]
    command: Callable[[Path], list[str]]


def _files(folder: Path) -> Path:
    """Return a folder of CSV files beside the workspace, made at its first use."""
    place = folder.parent / "files"
    if not place.exists():
        place.mkdir()
        for name, count in (("few", 700), ("more", 760)):
            rows = [
                f"{name}{n},u{n % 4},train,{1000 + 60 * n},{1000 + 60 * n},{1600 + 61 * n},"
                f"{600 + n},completed,4,16,{2 + n % 5}"
                for n in range(count)
            ]
            head = (
                "job_id,user,task,submit_s,start_s,end_s,duration_s,status,request_cpu_cores,"
                "request_memory_gib,memory_peak_gib"
            )
            text = "\n".join([head, *rows])
            (place / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    return place


def _imported(folder: Path) -> None:
    _done("import", "csv", _files(folder) / "few.csv", "-w", folder)


def _learnt(folder: Path) -> None:
    _imported(folder)
    _done("learn", folder, "--method", "backoff-median")


def _watched(folder: Path) -> None:
    _learnt(folder)
    _done("watch", folder, "--no-profiles")


def _done(*words: object) -> None:
    assert prophase(*words, quiet=False) == 0, words


OPERATIONS = (
    Operation(
        "import",
        _imported,
        lambda ws: ["import", "csv", str(_files(ws) / "more.csv"), "-w", str(ws), "--replace"],
    ),
    Operation(
        "learn",
        _learnt,
        lambda ws: ["learn", str(ws), "--method", "backoff-median", "--seed", "7"],
    ),
    Operation(
        "watch",
        _watched,
        lambda ws: ["watch", str(ws), "--with", str(_files(ws) / "more.csv")],
    ),
    Operation("profiles", _imported, lambda ws: ["profile", "fit", str(ws)]),
    Operation(
        "study",
        _imported,
        lambda ws: [
            "study", str(ws), "--cluster", "2x0 64c 256g", "--steps", "describe,sizing",
            "--seeds", "0", "--out", str(ws / "study"),
        ],
    ),
)  # fmt: skip


def prophase(*words: object, quiet: bool = True) -> int:
    """Run a command in this process and return how it left."""
    from prophase.cli.main import run

    said = io.StringIO()
    before = sys.argv
    sys.argv = ["prophase", *map(str, words)]
    code = 0
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            run()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(bool(left.code))
    finally:
        sys.argv = before
    if code and not quiet:
        print(said.getvalue(), file=sys.stderr)
    if "Traceback (most recent call last)" in said.getvalue():
        return _TRACEBACK
    return code


def state_of(folder: Path) -> dict[str, Any]:
    """Return what a workspace holds, part by part; raises if a part cannot be read."""
    import pandas as pd

    from prophase.serve.loaded_workspace import MODELS, load_model_of
    from prophase.trace.workspace import Workspace

    workspace = Workspace(folder)
    found: dict[str, Any] = {}
    for name in workspace.tables:
        table = workspace.read(name)
        texts = table.astype(str)
        found[f"table {name}"] = (len(table), int(pd.util.hash_pandas_object(texts).sum()))
    for name, place in MODELS.items():
        if (folder / place).exists():
            load_model_of(name, folder / place)
            found[f"model {name}"] = "loads"
    state = folder / "watch" / "state.model"
    if state.exists():
        from prophase.profile.drift.watch_folder import watch_folder

        watch_folder(workspace).load()
        found["watch"] = "loads"
    for report in sorted((folder / "study" / "reports").rglob("*")):
        if report.suffix == ".json":
            json.loads(report.read_text(encoding="utf-8"))
        if report.suffix == ".html":
            assert report.read_text(encoding="utf-8").rstrip().endswith("</html>"), report
        if report.suffix in (".json", ".html"):
            found[f"study {report.relative_to(folder)}"] = "whole"
    return found


class Campaign:
    """Runs cases of one operation."""

    def __init__(self, operation: Operation, scratch: Path) -> None:
        self.operation, self.scratch = operation, scratch
        self.library = ctypes.CDLL(None)
        self.library.fault_seen.restype = ctypes.c_long
        (scratch / operation.name).mkdir()
        self.start = scratch / operation.name / "before"
        self._in_a_fork(lambda: {"made": operation.before(self.start)})
        self.workspace = scratch / operation.name / "ws"
        self.old = self._in_a_fork(lambda: state_of(self.start))
        code, self.points = self._run(0, "count")
        assert code == 0, f"{operation.name} leaves with {code} where nothing fails"
        self.new = self._in_a_fork(lambda: state_of(self.workspace))

    def _fresh(self) -> None:
        shutil.rmtree(self.workspace, ignore_errors=True)
        shutil.copytree(self.start, self.workspace)

    def _run(self, n: int, kind: str) -> tuple[int, int]:
        """Run the command with its nth change faulty; return its exit status and the changes."""
        self._fresh()
        return self._command(n, kind)

    def _command(self, n: int, kind: str) -> tuple[int, int]:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = _TRACEBACK
            try:
                os.close(read)
                where = str(self.workspace).encode()
                self.library.fault_arm(where, ctypes.c_long(n), kind.encode())
                code = prophase(*self.operation.command(self.workspace))
            except BaseException:
                traceback.print_exc()
            finally:
                os.write(write, str(self.library.fault_seen()).encode())
                os._exit(code)
        os.close(write)
        with os.fdopen(read) as told:
            seen = told.read()
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), int(seen or 0)

    def _in_a_fork(self, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Return what a function gives in a fork, so that nothing stays open here."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(read)
                try:
                    said: dict[str, Any] = dict(make())
                except BaseException as error:
                    said = {"unreadable": f"{type(error).__name__}: {error}"}
                with os.fdopen(write, "w") as out:
                    out.write(json.dumps(said))
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as told:
            found: dict[str, Any] = json.loads(told.read())
        os.waitpid(pid, 0)
        return found

    def case(self, n: int, kind: str) -> list[str]:
        """Try one fault; return what is wrong afterwards."""
        code, _ = self._run(n, kind)
        wrong = []
        if kind in ("kill", "torn"):
            if code not in (-9, 0, *_TOLD):
                wrong.append(f"left with {code} instead of being killed")
        elif code not in (0, *_TOLD):
            wrong.append(f"left with {code}, not with words")
        seen = self._in_a_fork(lambda: state_of(self.workspace))
        old, new = _plain(self.old), _plain(self.new)
        for part in {*seen, *old}:
            if part == "unreadable":
                wrong.append(f"cannot be read: {seen[part]}")
            elif seen.get(part) not in (old.get(part), new.get(part)):
                wrong.append(f"{part} is {seen.get(part)}, neither {old.get(part)} nor new")
        if "unreadable" not in seen:
            code, _ = self._command(0, "count")
            after = self._in_a_fork(lambda: state_of(self.workspace))
            if code or after != new:
                wrong.append(f"the same command again left with {code} and {after}")
        return [f"{self.operation.name} {kind} at {n}: {one}" for one in wrong]


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(dict(state)))
    return found


def attack(
    scratch: Path, operation: Operation, kinds: tuple[str, ...], every: int, seed: int
) -> dict[str, Any]:
    """Try faults at every point, or at a sample of them; return what came of it."""
    campaign = Campaign(operation, scratch)
    chance = random.Random(seed)
    cases = [
        (n, kind)
        for kind in kinds
        for n in range(
            1 + chance.randrange(min(every, campaign.points)), campaign.points + 1, every
        )
    ]
    wrong: list[str] = []
    tried: Counter[str] = Counter()
    for n, kind in cases:
        wrong += campaign.case(n, kind)
        tried[kind] += 1
    return {
        "operation": operation.name, "points": campaign.points, "tried": dict(tried),
        "wrong": wrong,
    }  # fmt: skip


def main() -> None:
    """Run the campaign and print a line per operation."""
    names = [one.name for one in OPERATIONS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operation", choices=names, action="append")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--every", type=int, default=1, help="only each Nth point")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if "faults.so" not in os.environ.get("LD_PRELOAD", ""):
            library = built(scratch)
            env = {
                **os.environ, "LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1",
                "PROPHASE_PROGRESS": "0",
            }  # fmt: skip
            left = subprocess.run([sys.executable, "-m", __spec__.name, *sys.argv[1:]], env=env)
            sys.exit(left.returncode)
        for module in _LOADED:
            import_module(module)
        failed = False
        for operation in OPERATIONS:
            if operation.name in (asked.operation or names):
                kinds = tuple(asked.kind or KINDS)
                found = attack(scratch, operation, kinds, asked.every, asked.seed)
                print(json.dumps(found), flush=True)
                failed |= bool(found["wrong"])
    sys.exit(failed)


if __name__ == "__main__":
    main()
