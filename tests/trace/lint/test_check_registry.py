"""Every check has a name, a title and a section in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prophase.trace.lint.check_registry import all_checks

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "lint-checks.md"


def sections() -> dict[str, str]:
    parts = re.split(
        r"^### `([a-z-]+)`$", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", all_checks())
def test_every_check_is_documented_with_cause_and_cure(name):
    assert name in sections(), f"docs/reference/lint-checks.md has no section `{name}`"
    text = sections()[name]
    for word in ("**Finds:**", "**Matters:**", "**Do:**"):
        assert word in text


def test_nothing_is_documented_that_does_not_exist():
    assert set(sections()) == set(all_checks())


@pytest.mark.parametrize("check", all_checks().values(), ids=lambda c: c.name)
def test_every_check_has_a_kebab_name_and_a_one_line_title(check):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", check.name)
    assert check.title.endswith(".")
    assert len(check.title) < 100
