"""Gather changes/*.md into CHANGELOG.md at a release.

python tools/changelog.py --draft       print what the next release would say
python tools/changelog.py 0.2.0         write it into CHANGELOG.md, and remove the files

A change is a file ``changes/<topic>.<kind>.md``; its text may begin with the folder it is about
(``sim: ...``). Breaking and removed things come first, then one part per folder.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: kinds in the order they are told
KINDS = ("breaking", "removed", "changed", "added", "fixed")
_FIRST = ("breaking", "removed")
#: folders in the order the data flows; what names none of them is told before them
FOLDERS = (
    "trace", "profile", "phase", "sizing", "autoscale", "sim", "study", "reports", "runs",
    "papers", "plots", "integrations", "serve", "cli", "demo", "stats", "units", "result",
    "deploy", "tests", "docs",
)  # fmt: skip
#: words that changes also begin with -> folder
_ALSO = {"import": "trace", "lint": "trace", "reproduce": "papers"}
_TITLE = "# Changelog\n"
_BEGIN = re.compile(r"([a-z]+): +")


@dataclass(frozen=True)
class Change:
    """One file of ``changes``: what kind it is, which folder it is about, what it says."""

    topic: str
    kind: str
    folder: str
    text: str


def read_changes(folder: Path) -> list[Change]:
    """Return the changes of a folder by topic; ValueError for one with a wrong name or no text."""
    found = []
    for path in sorted(folder.glob("*.md")):
        topic, _, kind = path.stem.rpartition(".")
        if kind not in KINDS or not topic:
            raise ValueError(f"{path.name}: name it <topic>.<{'|'.join(KINDS)}>.md")
        text = " ".join(path.read_text(encoding="utf-8").split())
        if not text:
            raise ValueError(f"{path.name}: says nothing.")
        begin = _BEGIN.match(text)
        about = _ALSO.get(begin[1], begin[1]) if begin else ""
        if begin is None or about not in FOLDERS:
            found.append(Change(topic, kind, "", text))
        else:
            found.append(Change(topic, kind, about, text[begin.end() :]))
    return found


def release_text(changes: Sequence[Change], version: str, day: str) -> str:
    """Return the part of the changelog for one release: what breaks first, then by folder."""
    parts = [f"## {version} ({day})\n"]
    first = [one for one in changes if one.kind in _FIRST]
    if first:
        parts += ["### Breaking\n", *_lines(first, with_folder=True), ""]
    rest = [one for one in changes if one.kind not in _FIRST]
    for folder in ("", *FOLDERS):
        told = [one for one in rest if one.folder == folder]
        if told:
            parts += [f"### {folder or 'Prophase'}\n", *_lines(told, with_folder=False), ""]
    return "\n".join(parts)


def with_release(before: str, release: str) -> str:
    """Return a changelog with a release put before the others."""
    body = before.removeprefix(_TITLE).lstrip("\n")
    return f"{_TITLE}\n{release}" + (f"\n{body}" if body else "")


def _lines(changes: Sequence[Change], *, with_folder: bool) -> list[str]:
    ordered = sorted(changes, key=lambda one: (KINDS.index(one.kind), one.topic))
    return [
        f"- {one.kind.capitalize()}: "
        + (f"{one.folder}: " if with_folder and one.folder else "")
        + one.text
        for one in ordered
    ]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write or print the next part of the changelog."""
    parser = argparse.ArgumentParser(description="Gather changes/*.md into CHANGELOG.md.")
    parser.add_argument("version", nargs="?", help="the release, such as 0.2.0")
    parser.add_argument("--draft", action="store_true", help="print it and change nothing")
    given = parser.parse_args(arguments)
    if not given.draft and not given.version:
        parser.error("name the version, or --draft")
    changes = read_changes(root / "changes")
    if not changes:
        parser.error("there are no changes to tell of")
    today = datetime.now(UTC).date().isoformat()
    release = release_text(changes, given.version or "Next", today)
    if given.draft:
        print(release)
        return 0
    path = root / "CHANGELOG.md"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(with_release(before, release), encoding="utf-8")
    for old in (root / "changes").glob("*.md"):
        old.unlink()
    print(f"Wrote {len(changes)} changes into {path.name} under {given.version}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
