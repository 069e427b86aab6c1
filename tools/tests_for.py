"""Say which tests a change needs: python tools/tests_for.py [FILE ...] [--since COMMIT] [--all]

Without files, those that differ from `main`. Printed are the test files that import a changed
module, directly or through others, the nearest first; `--all` prints those far away as well.
Run them with: .venv/bin/python -m pytest $(python tools/tests_for.py)
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: imports between a test and what was changed; beyond, a change is seldom seen
NEAR = 2
#: files that no module imports -> tests that look after them
OTHERS = {
    "pyproject.toml": ["tests/tools/test_lock.py", "tests/test_house.py"],
    "requirements/": ["tests/tools"],
    "tools/": ["tests/tools"],
    "docs/": ["tests/docs"],
    "README.md": ["tests/docs"],
    "examples/": ["tests/examples"],
    "deploy/": ["tests/deploy"],
    "changes/": ["tests/tools/test_changelog.py"],
    "tests/golden/": ["tests/test_golden_house.py"],
    "src/prophase/serve/templates/": ["tests/serve/pages"],
    "src/prophase/serve/static/": ["tests/serve/pages"],
    "src/prophase/cli/": ["tests/docs", "tests/cli/test_option_names.py"],
}


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return every module of the program and of the tests, by its dotted name."""
    found = {}
    for place, prefix in ((root / "src" / "prophase", "prophase"), (root / "tests", "tests")):
        for path in place.rglob("*.py"):
            parts = path.relative_to(place).with_suffix("").parts
            name = ".".join([prefix, *(part for part in parts if part != "__init__")])
            found[name] = path
    return found


def imported(path: Path, known: Iterable[str]) -> set[str]:
    """Return the modules that a file imports, wherever in it."""
    names = set(known)
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            wanted = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wanted = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # modules that are loaded by name: "prophase.serve.api.ask" or "module:function"
            wanted = [node.value.partition(":")[0]] if node.value.startswith("prophase.") else []
        else:
            continue
        found |= {name for name in wanted if name in names}
    return found


def needed_tests(changed: Iterable[str], root: Path = ROOT) -> dict[str, int]:
    """Return the test files that a change needs, with the imports between them and it."""
    known = modules(root)
    users: dict[str, set[str]] = defaultdict(set)
    for name, path in known.items():
        for used in imported(path, known):
            users[used].add(name)
    by_path = {path.relative_to(root).as_posix(): name for name, path in known.items()}
    found: dict[str, int] = {}
    for path in changed:
        for prefix, tests in OTHERS.items():
            if path.startswith(prefix):
                found |= {one: 0 for one in tests if (root / one).exists()}
        if path in by_path:
            _walk(by_path[path], users, known, root, found)
        found |= dict.fromkeys(_beside(path, root), 0)
    return dict(sorted(found.items(), key=lambda one: (one[1], one[0])))


def _walk(
    start: str,
    users: dict[str, set[str]],
    known: dict[str, Path],
    root: Path,
    found: dict[str, int],
) -> None:
    waiting, seen = deque([(start, 0)]), {start}
    while waiting:
        name, far = waiting.popleft()
        path = known[name]
        if path.name.startswith("test_"):
            place = path.relative_to(root).as_posix()
            found[place] = min(far, found.get(place, far))
        if path.name == "conftest.py":
            # whatever is below uses its fixtures
            for one in path.parent.rglob("test_*.py"):
                place = one.relative_to(root).as_posix()
                found[place] = min(far, found.get(place, far))
        for user in users[name] - seen:
            seen.add(user)
            waiting.append((user, far + 1))


def _beside(path: str, root: Path) -> list[str]:
    """Return the test file that mirrors a module, if there is one."""
    if not path.startswith("src/prophase/") or not path.endswith(".py"):
        return []
    inner = Path(path).relative_to("src/prophase")
    mirrored = root / "tests" / inner.parent / f"test_{inner.name}"
    return [mirrored.relative_to(root).as_posix()] if mirrored.exists() else []


def changed_files(since: str) -> list[str]:
    """Return the files that differ from a commit, those that are not committed too."""
    asked = [["diff", "--name-only", f"{since}..."], ["diff", "--name-only", "HEAD"],
             ["ls-files", "--others", "--exclude-standard"]]  # fmt: skip
    found: set[str] = set()
    for words in asked:
        said = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
        found |= set(said.stdout.split())
    return sorted(found)


def main() -> int:
    """Print the tests, one per line."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("files", nargs="*", help="changed files [default: what differs from main]")
    words.add_argument("--since", default="main", help="commit to compare with")
    words.add_argument("--all", action="store_true", help="also tests that are far away")
    chosen = words.parse_args()
    files = [Path(one).as_posix() for one in chosen.files] or changed_files(chosen.since)
    found = needed_tests(files)
    near = [one for one, far in found.items() if chosen.all or far <= NEAR]
    print("\n".join(near))
    left = len(found) - len(near)
    if left:
        print(f"{left} more are far away; --all prints them.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
