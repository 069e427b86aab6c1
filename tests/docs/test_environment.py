"""What Prophase reads from its surroundings is in the reference."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "environment.md"


def in_source(pattern: str) -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        found |= set(re.findall(pattern, path.read_text(encoding="utf-8")))
    return found


def test_every_environment_variable_is_described() -> None:
    told = set(re.findall(r"`(PROPHASE_[A-Z_]+)`", PAGE.read_text(encoding="utf-8")))
    named = in_source(r"[\"']((?:PROPHASE)_[A-Z_]*[A-Z])[\"']")
    assert named - told == set(), "describe these in docs/reference/environment.md"
    assert told - in_source(r"(PROPHASE_[A-Z_]*[A-Z])") == set(), "these are read no more"


def test_every_entry_point_is_described() -> None:
    told = set(re.findall(r"`(prophase\.[a-z]+)`", PAGE.read_text(encoding="utf-8")))
    assert told == in_source(r"[\"'](prophase\.(?:readers|engines|executors|orders|places|sizers))")
    assert in_source(r"entry_points\(group=\"(prophase\.[a-z]+)\"") <= told


def test_the_glossary_is_in_order_and_says_each_word_once() -> None:
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| (?!word|-)([^|]+?) \|", text, re.MULTILINE)
    assert words == sorted(words, key=str.lower)
    assert len(words) == len(set(words)) > 40
