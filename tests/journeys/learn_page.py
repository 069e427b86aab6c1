"""The commands of docs/learn/your-own-history.md, section by section, as a reader types them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "learn" / "your-own-history.md"
_BLOCK = re.compile(r"^```(?:text|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def typed_in(section: str, first_word: str) -> list[list[str]]:
    """Return what a section has its reader type after ``prophase``, for one command."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    text = next(part for part in parts if part.startswith(f"{section}\n"))
    lines = [line for block in _BLOCK.findall(text) for line in block.splitlines()]
    typed = [shlex.split(line)[1:] for line in lines if line.startswith("prophase ")]
    return [words for words in typed if words[0] == first_word]
