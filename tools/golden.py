"""Record what every command answers, and compare it with what was recorded before.

    python tools/golden.py record [--only PATTERN] [--into FOLDER]
    python tools/golden.py compare [--only PATTERN] [--texts]

The recordings are in ``tests/golden/house``; its README says when a change is right. Commands
are listed in ``commands.toml`` there, allowed differences in ``renamed.toml``. PATTERN is a shell
pattern of names such as ``sacct/size*`` or ``schedules``; several are joined by commas.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HOUSE = Path(__file__).parent.parent / "tests" / "golden" / "house"
#: rows of a list that are kept; of the others their count and sums
ROWS = 50
#: differences that are shown of each file, if there are several files
SHOWN = 15
DIGITS = 9
TOLERANCE = 1e-6
#: what a run would change although nothing else did
VARYING = {
    "version",
    "made",
    "host",
    "cpu_s",
    "seconds",
    "fit_seconds",
    "predict_seconds",
    "observe_ms",
    "predict_ms",
}
NOW = re.compile(r"\b20(?:2[5-9]|[3-9]\d)-\d\d-\d\d(?:[T ][\d:.]+(?:Z|\+00:00)?)?")


def main() -> int:
    """Record or compare; leave with 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_AS_IT_IS)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("--only", default="*", help="names to take, as shell patterns")
    parser.add_argument("--into", type=Path, default=HOUSE, help="record: folder to write to")
    parser.add_argument("--texts", action="store_true", help="compare: show sentences, too")
    wanted = parser.parse_args()
    if wanted.what == "record":
        record(wanted.only, wanted.into)
        return 0
    differing, texts = compare(wanted.only)
    print("\n".join(_listed(differing) + (texts if wanted.texts else [])))
    print(f"{len(differing)} differences, {len(texts)} in the words of sentences (--texts).")
    return int(bool(differing))


_AS_IT_IS = argparse.RawDescriptionHelpFormatter


def _listed(differing: list[str]) -> list[str]:
    """Return the differences, of each file the first few."""
    by_file: dict[str, list[str]] = {}
    for line in differing:
        by_file.setdefault(line.partition(":")[0], []).append(line)
    if len(by_file) == 1:
        return differing
    shown = []
    for file, lines in by_file.items():
        shown += lines[:SHOWN]
        if len(lines) > SHOWN:
            shown.append(f"{file}: ... {len(lines) - SHOWN} more; --only {file} shows all")
    return shown


def record(only: str, into: Path) -> None:
    """Write one file per answer."""
    for name, answer in answers(only):
        path = into / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(answer, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def compare(only: str) -> tuple[list[str], list[str]]:
    """Return where answers differ from the recorded ones: in substance, and in words alone."""
    allowed = Allowed(HOUSE / "renamed.toml")
    differing: list[str] = []
    texts: list[str] = []
    for name, answer in answers(only):
        path = HOUSE / f"{name}.json"
        if not path.exists():
            differing.append(f"{name}: was not recorded")
            continue
        before = allowed.renamed(name, leaves(json.loads(path.read_text(encoding="utf-8"))))
        after = leaves(answer)
        for place in sorted(before.keys() | after.keys()):
            one, other = before.get(place, _ABSENT), after.get(place, _ABSENT)
            if same(one, other) or allowed.ignores(name, place, other):
                continue
            found = texts if is_sentence(one) and is_sentence(other) else differing
            found.append(f"{name}: {place}: {_short(one)} -> {_short(other)}")
    return differing, texts


_ABSENT = "(absent)"


class Allowed:
    """What ``renamed.toml`` allows: keys and paths with new names, and places not to look at."""

    def __init__(self, path: Path) -> None:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        self.keys: dict[str, str] = said.get("keys", {})
        self.paths: list[dict[str, str]] = said.get("path", [])
        self.ignored: list[dict[str, str]] = said.get("ignore", [])

    def renamed(self, name: str, found: dict[str, Any]) -> dict[str, Any]:
        """Return recorded leaves under the names of today."""
        rules = [rule for rule in self.paths if fits(name, rule.get("file", "*"))]
        today = {}
        for place, value in found.items():
            place = "/".join(self.keys.get(key, key) for key in place.split("/"))
            for rule in rules:
                place = re.sub(rule["from"], rule["to"], place)
            today[place] = value
        return today

    def ignores(self, name: str, place: str, today: Any = "") -> bool:
        """Tell whether a place may differ; where a rule says ``today``, only to what fits that."""
        return any(
            fits(name, rule.get("file", "*"))
            and re.search(rule["path"], place)
            and re.search(rule.get("today", ""), str(today))
            for rule in self.ignored
        )


def fits(name: str, patterns: str) -> bool:
    """Tell whether a name fits one of the shell patterns, which are joined by commas."""
    return any(fnmatch(name, pattern) for pattern in patterns.split(","))


def leaves(value: Any, place: str = "") -> dict[str, Any]:
    """Return every single value by its path, such as ``answer/rows/0/mean_wait_s``."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {place: value}
    found: dict[str, Any] = {} if value else {place: type(value).__name__ + " without content"}
    for key, inner in items:
        found |= leaves(inner, f"{place}/{key}" if place else str(key))
    return found


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal, numbers up to the tolerance."""
    numbers = [isinstance(x, int | float) and not isinstance(x, bool) for x in (one, other)]
    if all(numbers):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12)
    return type(one) is type(other) and one == other


def is_sentence(value: Any) -> bool:
    """Tell words for people from names and codes."""
    return isinstance(value, str) and value != _ABSENT and " " in value.strip()


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 160 else text[:157] + "..."


# what is recorded


def answers(only: str) -> Iterator[tuple[str, Any]]:
    """Yield the name of everything that is wanted, and what it answers today."""

    def wanted(name: str) -> bool:
        return fits(name, only)

    with tempfile.TemporaryDirectory(prefix="golden-") as folder, _quiet():
        stages = Stages(Path(folder).resolve())
        for name, stage in stages.described.items():
            commands = {f"{name}/{key}": value for key, value in stage.get("commands", {}).items()}
            chosen = {key: value for key, value in commands.items() if wanted(key)}
            for number in range(len(stage.get("setup", []))):
                if wanted(f"{name}/setup-{number + 1}"):
                    chosen[f"{name}/setup-{number + 1}"] = None
            files = [file for file in stage.get("files", []) if wanted(f"{name}/{Path(file).name}")]
            if not chosen and not files:
                continue
            if reason := stages.missing(name):
                print(f"{name}: left out, {reason}", file=sys.stderr)
                continue
            stages.make(name)
            for key, value in chosen.items():
                begun = time.process_time()
                yield key, stages.answer(name, key, value)
                print(f"{time.process_time() - begun:7.1f} s  {key}", file=sys.stderr)
            for file in files:
                text = (stages.home / name / file).read_text(encoding="utf-8")
                yield f"{name}/{Path(file).name}", plain(text.splitlines(), stages.work)
        if wanted("openapi"):
            from prophase.serve.app import create_app

            stages.make("pai")
            yield "openapi", plain(create_app(stages.home / "pai" / "ws").openapi(), stages.work)
        if wanted("schedules"):
            from golden_schedules import schedules

            yield "schedules", schedules()


class Stages:
    """Folders in which commands run, each made once and copied for every command."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "stages", folder / "work"
        self.data = os.environ.get("PROPHASE_DATA", "")
        self.described = tomllib.loads((HOUSE / "commands.toml").read_text(encoding="utf-8"))
        self.said: dict[str, list[Any]] = {}

    def missing(self, name: str) -> str:
        """Say why a stage cannot be made here, or nothing."""
        needed = self.described[name].get("needs", [])
        absent = [file for file in needed if not (Path(self.data or "/nowhere") / file).exists()]
        return f"PROPHASE_DATA has no {', '.join(absent)}" if absent else ""

    def make(self, name: str) -> None:
        """Make the folder of a stage and of those it comes from."""
        if name in self.said:
            return
        stage = self.described[name]
        before = stage.get("from")
        if before:
            self.make(before)
        self._fresh(self.home / before if before else HOUSE / "inputs")
        self.said[name] = [self.run(line) for line in stage.get("setup", [])]
        shutil.copytree(self.work, self.home / name)

    def answer(self, name: str, key: str, lines: str | list[str] | None) -> Any:
        """Return what a command, or several after each other, say in a copy of the stage."""
        if lines is None:
            return self.said[name][int(key.rpartition("-")[2]) - 1]
        self._fresh(self.home / name)
        if isinstance(lines, str):
            return self.run(lines)
        return [self.run(line) for line in lines]

    def run(self, line: str) -> dict[str, Any]:
        """Run one command line of Prophase; ``< FILE`` and ``> FILE`` may end it."""
        words = shlex.split(line.replace("{data}", self.data))
        given, kept = "", None
        if len(words) > 2 and words[-2] in "<>":
            *words, sign, file = words
            given = (self.work / file).read_text() if sign == "<" else ""
            kept = self.work / file if sign == ">" else None
        if not {"--export", "--guess"} & set(words) and words[:2] != ["size", "watch"]:
            words += ["--format", "json"]
        code, out, err = run_prophase(words, given, self.work)
        if kept is not None:
            kept.write_text(out, encoding="utf-8")
        answer = {"command": line, "exit": code, "answer": plain(_parsed(out), self.work)}
        return answer | ({"error": plain(err.splitlines(), self.work)} if code else {})

    def _fresh(self, source: Path) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(source, self.work)


def run_prophase(words: list[str], given: str, folder: Path) -> tuple[int, str, str]:
    """Run the command line in this process; return exit code, stdout and stderr."""
    from prophase.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    before = sys.argv, sys.stdin, Path.cwd()
    sys.argv, sys.stdin = ["prophase", *words], io.StringIO(given)
    os.chdir(folder)
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:
        code = 99
        err.write(f"{type(error).__name__}: {error}")
    finally:
        sys.argv, sys.stdin = before[:2]
        os.chdir(before[2])
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Give every run the same terminal, time zone and settings."""
    before = dict(os.environ)
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC"}
    os.environ.pop("PROPHASE_WORKSPACE", None)
    time.tzset()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        time.tzset()


# how an answer is kept


def _parsed(text: str) -> Any:
    """Return JSON as data, JSON lines as a list, any other text as its lines."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return text.splitlines()


def plain(value: Any, work: Path) -> Any:
    """Return an answer without what varies from run to run, floats rounded, long lists cut."""
    if isinstance(value, dict):
        return {
            key: "(varies)" if key in VARYING and inner is not None else plain(inner, work)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        rows = [plain(inner, work) for inner in value]
        return rows if len(rows) <= ROWS else [*rows[:ROWS], {"rest": _summed(rows[ROWS:])}]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    if isinstance(value, str):
        value = value.replace(str(work), "(folder)")
        data = os.environ.get("PROPHASE_DATA")
        return NOW.sub("(now)", value.replace(data, "(data)") if data else value)
    return value


def _summed(rows: list[Any]) -> dict[str, Any]:
    """Return a checksum that forgives the last digits: sums of numbers, a hash of names."""
    found = [value for row in rows for value in leaves(row).values()]
    numbers = [float(x) for x in found if isinstance(x, int | float)]
    names = [x for x in found if isinstance(x, str) and not is_sentence(x)]
    return {
        "rows": len(rows),
        "sum": float(f"{math.fsum(numbers):.{DIGITS}g}"),
        "absolute_sum": float(f"{math.fsum(map(abs, numbers)):.{DIGITS}g}"),
        "names": hashlib.sha256("\n".join(names).encode()).hexdigest()[:16],
    }


if __name__ == "__main__":
    sys.exit(main())
