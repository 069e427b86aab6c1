"""The same option has one name, one meaning and one help text in every command."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import prophase.cli
from prophase.cli.main import app
from prophase.cli.settings import RENAMED

CONVENTIONS = Path(__file__).parents[2] / "docs/reference/cli-conventions.md"
#: sweeps take several values where the command that they repeat takes one
SWEEPS = ("sweep", "phase sweep")
#: a name for what is written, and for a value by its name: of what, each command says
COMMAND_SAYS = ("--out", "--set")
MOST_PARAMETERS = 12


def commands(path: str = "", group: Any = None) -> Iterator[tuple[str, Any]]:
    for name, one in (group or get_command(app)).commands.items():
        if hasattr(one, "commands"):
            yield from commands(f"{path} {name}".strip(), one)
        else:
            yield f"{path} {name}".strip(), one


ALL = dict(commands())


def options_of(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and one.name != "help"]


def meaning(option: Any) -> str:
    return re.sub(r"\s*\[default[^\]]*\]", "", " ".join(option.help.split()))


def test_the_same_option_means_the_same_in_every_command():
    said = defaultdict(lambda: defaultdict(list))
    for name, command in ALL.items():
        for option in options_of(command):
            if name not in SWEEPS and option.opts[0] not in COMMAND_SAYS:
                said[option.opts[0]][meaning(option), tuple(option.opts)].append(name)
    assert {name: dict(texts) for name, texts in said.items() if len(texts) > 1} == {}


def test_no_function_of_the_command_line_has_more_than_twelve_parameters():
    found = {}
    for path in Path(prophase.cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                held = node.args
                count = len([*held.posonlyargs, *held.args, *held.kwonlyargs])
                found[f"{path.name}: {node.name}"] = count
    assert {name: count for name, count in found.items() if count > MOST_PARAMETERS} == {}


def renamed() -> list[tuple[str, str, str]]:
    return [
        (name, old, new)
        for name, command in ALL.items()
        for old, new in getattr(command.callback, RENAMED, {}).items()
    ]


@pytest.mark.parametrize(("name", "old", "new"), renamed())
def test_an_old_name_leads_to_an_option_of_the_command_and_is_hidden(name, old, new):
    names = {one for option in options_of(ALL[name]) for one in option.opts}
    assert new in names
    assert old not in names


@pytest.mark.parametrize("old", sorted({old for _, old, _ in renamed() if old.startswith("--")}))
def test_the_page_of_conventions_names_every_old_option(old):
    assert f"`{old}`" in CONVENTIONS.read_text(encoding="utf-8")
