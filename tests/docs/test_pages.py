"""Pages say what is true: their commands run, and what is public is documented."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.pages import OTHERS, PAGES, ROOT, page_name, run_commands

assert run_commands  # the fixture

_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("page", OTHERS, ids=page_name)
def test_the_commands_of_a_page_run_as_they_stand(
    page: Path, run_commands: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    run_commands(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_inside_the_documentation_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page_name(page)} links to {target}"


def test_the_generated_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make_reference.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_list_of_questions_counts_what_there_is() -> None:
    from prophase.sim.policies import order_policies, place_policies
    from prophase.trace.lint.check_registry import all_checks
    from prophase.trace.reader import all_readers

    assert f"{len(all_readers())} sources" in (ROOT / "README.md").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "learn" / "questions.md").read_text(encoding="utf-8")
    assert f"{len(all_readers())} sources" in text
    assert f"[{len(all_checks())} checks]" in text
    assert f"{len(order_policies())} orders, {len(place_policies())} placements" in text


def test_everything_public_is_in_the_reference_and_says_what_it_is() -> None:
    from tools.api_reference import api_pages, public_names

    text = "".join(api_pages().values())
    for module, names in public_names().items():
        for name in names:
            value = getattr(importlib.import_module(module), name)
            assert f".{name}" in text, f"{module}.{name} is not in the reference"
            if inspect.isclass(value) or inspect.isroutine(value):
                assert value.__doc__, f"{module}.{name} has no docstring"
