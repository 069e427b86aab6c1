"""Write down the versions that are tested: python tools/lock.py [--upgrade | --check]

`requirements/dev.txt` locks every extra of pyproject.toml but Airflow, which has an environment of
its own and `requirements/airflow.txt`; `requirements/engines.txt` locks the engines that exports
are tried in. One file holds for Python 3.11 to 3.14 on every system.
`requirements/hashed/` has the same versions with the hashes of their files, for `pip install
--require-hashes`; `service.txt` there is what the container image holds.
Versions that still fit stay as they are; `--upgrade` takes the newest that are allowed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

try:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name
except ImportError:  # a new environment has pip and nothing else
    from pip._vendor.packaging.requirements import Requirement
    from pip._vendor.packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
OLDEST_PYTHON = "3.11"
#: what has an environment of its own, so that its pins never meet ours
OWN_ENVIRONMENTS = ("airflow", "engines")
#: extras of the container image
SERVICE_EXTRAS = ("serve", "learn", "runs")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)")


def declared(root: Path = ROOT) -> dict[str, list[Requirement]]:
    """Return what is asked for, by the lock file that answers it."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    dev = [*project["dependencies"], *(one for name in locked_extras(root) for one in extras[name])]
    asked = {"dev.txt": dev, "airflow.txt": list(extras["airflow"]), "engines.txt": []}
    for name in OWN_ENVIRONMENTS:
        lines = (root / "requirements" / f"{name}.in").read_text().splitlines()
        asked[f"{name}.txt"] += [one for one in lines if one and not one.startswith("#")]
    return {name: list(map(Requirement, lines)) for name, lines in asked.items()}


def locked_extras(root: Path = ROOT) -> list[str]:
    """Return the extras that requirements/dev.txt covers."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return [name for name in project["optional-dependencies"] if name != "airflow"]


def pins(text: str) -> dict[str, set[str]]:
    """Return the versions of each library in a lock file; several where Python versions differ."""
    found = defaultdict(set)
    for line in text.splitlines():
        if pin := _PIN.match(line):
            found[canonicalize_name(pin[1])].add(pin[2])
    return found


def behind(wanted: list[Requirement], locked: dict[str, set[str]]) -> list[str]:
    """Say which requirements a lock file does not meet."""
    told = []
    for one in wanted:
        versions = locked.get(canonicalize_name(one.name), set())
        outside = [each for each in versions if not one.specifier.contains(each, prereleases=True)]
        if not versions:
            told.append(f"{one.name} is missing")
        elif outside:
            told.append(f"{one.name} is {', '.join(outside)}, asked for is {one.specifier}")
    return told


def check(root: Path = ROOT) -> int:
    """Return 1, and say why, if a lock file is behind what is asked for."""
    worst = 0
    for name, wanted in declared(root).items():
        lock = root / "requirements" / name
        told = behind(wanted, pins(lock.read_text()) if lock.exists() else {})
        if told:
            worst = 1
            print(
                f"requirements/{name} is behind: {'; '.join(told)}.\n"
                "Run `make lock` and commit the file.",
                file=sys.stderr,
            )
        hashed = root / "requirements" / "hashed" / name
        for said in unhashed(lock, hashed):
            worst = 1
            print(f"{said} Run `make lock` and commit the file.", file=sys.stderr)
    return worst


def unhashed(lock: Path, hashed: Path) -> list[str]:
    """Say where a file with hashes does not have what a lock file has."""
    place = f"requirements/hashed/{hashed.name}"
    if not lock.exists() or not hashed.exists():
        return [f"{place} is missing."]
    text = hashed.read_text()
    told = []
    if pins(text) != pins(lock.read_text()):
        told.append(f"{place} has other versions than requirements/{lock.name}.")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text)
    bare = [one.split("==")[0] for one in blocks if "==" in one and "--hash=sha256:" not in one]
    return [*told, *(f"{place}: {name} has no hash." for name in bare)]


def write(*, upgrade: bool) -> None:
    """Resolve all environments again."""
    beside = Path(sys.executable).parent / "uv"
    uv = shutil.which("uv") or (str(beside) if beside.exists() else None)
    if uv is None:
        sys.exit("Locking needs uv. Install it with: .venv/bin/pip install uv")
    extras = [word for name in locked_extras() for word in ("--extra", name)]
    for name, asked in {
        "dev.txt": ["pyproject.toml", *extras],
        **{f"{name}.txt": [f"requirements/{name}.in"] for name in OWN_ENVIRONMENTS},
    }.items():
        subprocess.run(
            [
                *(uv, "pip", "compile", "--quiet", "--universal"),
                *("--python-version", OLDEST_PYTHON, "--custom-compile-command", "make lock"),
                *(["--upgrade"] if upgrade else []),
                *asked,
                *("--output-file", f"requirements/{name}"),
            ],
            cwd=ROOT,
            check=True,
        )
        _hash(uv, f"requirements/{name}", f"requirements/hashed/{name}")
    with tempfile.TemporaryDirectory() as scratch:
        # what the image needs, in the versions that are tested
        needed = f"{scratch}/service.txt"
        extras = [word for name in SERVICE_EXTRAS for word in ("--extra", name)]
        subprocess.run(
            [
                *(uv, "pip", "compile", "--quiet", "--universal", "--python-version"),
                *(OLDEST_PYTHON, "pyproject.toml", *extras),
                *("--constraint", "requirements/dev.txt", "--output-file", needed),
            ],
            cwd=ROOT,
            check=True,
        )
        _hash(uv, needed, "requirements/hashed/service.txt")


def _hash(uv: str, lock: str, target: str) -> None:
    """Write the versions of a lock file with the hashes of their files."""
    subprocess.run(
        [
            *(uv, "pip", "compile", "--quiet", "--universal", "--no-deps", "--no-annotate"),
            *("--python-version", OLDEST_PYTHON, "--custom-compile-command", "make lock"),
            *("--generate-hashes", "--upgrade", lock, "--output-file", target),
        ],
        cwd=ROOT,
        check=True,
    )


def main() -> int:
    """Write the lock files, or check them."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--upgrade", action="store_true", help="take the newest versions allowed")
    words.add_argument("--check", action="store_true", help="only say whether they are behind")
    chosen = words.parse_args()
    if not chosen.check:
        write(upgrade=chosen.upgrade)
    return check()


if __name__ == "__main__":
    sys.exit(main())
