"""Files, modules and names that pages mention are there."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT, page_name

_FILE = re.compile(r"`((?:src/prophase|tests|tools|benchmarks|docs|examples)/[\w./-]+)`")
_IMPORT = re.compile(r"^(?:from prophase[\w.]* import (?:\([^)]*\)|.*)|import prophase.*)$", re.M)
_NAME = re.compile(r"`prophase((?:\.[A-Za-z_]\w*)+)[`(]")
_CHANGES = sorted((ROOT / "changes").glob("*.md"))
#: what `prophase.` also begins: entry point groups and files of a workspace
_NO_CODE = re.compile(r"\.(readers|orders|places|sizers|executors|engines|toml|db)$")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = _FILE.findall(page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_names_that_a_page_imports_are_there(page: Path) -> None:
    missing = []
    for line in _IMPORT.findall(page.read_text(encoding="utf-8")):
        node = ast.parse(line).body[0]
        if isinstance(node, ast.Import):
            for module in node.names:
                importlib.import_module(module.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            held = importlib.import_module(node.module)
            missing += [line for one in node.names if not hasattr(held, one.name)]
    assert missing == []


@pytest.mark.parametrize("page", [*PAGES, *_CHANGES], ids=page_name)
def test_names_that_a_page_or_a_change_mentions_are_there(page: Path) -> None:
    named = set(_NAME.findall(page.read_text(encoding="utf-8")))
    code = [f"prophase{name}" for name in named if not _NO_CODE.match(name)]
    assert [name for name in code if not _is_there(name)] == []


def _is_there(name: str) -> bool:
    """Say whether a dotted name is a module, or something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True
