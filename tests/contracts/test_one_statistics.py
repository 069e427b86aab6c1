"""Every interval comes from ``prophase.stats``; nothing else computes one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "prophase"
#: what an interval of one's own is made of
MADE_OF = {
    "quantiles of Student's t": r"\bstdtrit\b|\bt\.ppf\b",
    "quantiles of the beta distribution": r"\bbeta\.ppf\b|\bbetaincinv\b|\bbtdtri\b",
    "an end at 97.5 %": r"\b0?\.975\b|\b97\.5\b",
    "ends of a level": r"\(1 [-+] _?(level|LEVEL|_LEVEL|COVERED|_COVERED)\) / 2",
    "a standard error with the factor of a normal distribution": r"\b1\.96 \*|\* 1\.96\b",
    "blocks drawn with replacement": r"\.choice\([^)]*replace=True|\.integers\([^)]*size=\(_?[Dd]",
    "an interval type of its own": r"^class (Estimate|Interval|ConfidenceInterval)\b",
}
#: reproductions of publications follow the publication; laws are tested, not estimated
ELSEWHERE = ("stats/", "papers/")


@pytest.mark.parametrize("what", MADE_OF)
def test_nothing_outside_stats_has(what: str) -> None:
    pattern = re.compile(MADE_OF[what], re.MULTILINE)
    strays = [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not (name := path.relative_to(SOURCE).as_posix()).startswith(ELSEWHERE)
        for text in [path.read_text(encoding="utf-8")]
        for found in pattern.finditer(text)
    ]
    assert not strays, "call prophase.stats instead"
