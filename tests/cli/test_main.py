from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from prophase import __version__
from prophase.cli.main import COMMANDS, app


def test_the_version_is_printed(prophase):
    assert prophase("--version").stdout == f"prophase {__version__}\n"


def test_no_command_prints_the_help(prophase):
    done = prophase()
    assert "Usage: prophase" in done.stdout + done.stderr


def all_commands() -> dict[str, Any]:
    """Every command, and every command of a group, under the words one types."""
    found = {}
    for name, command in get_command(app).commands.items():
        found[name] = command
        held = getattr(command, "commands", {})
        found |= {f"{name} {inner}": one for inner, one in held.items()}
    return found


def test_every_command_of_the_table_is_there():
    assert set(COMMANDS) <= set(all_commands())


@pytest.mark.parametrize("name", all_commands())
def test_every_command_explains_itself_with_an_example(name):
    command = all_commands()[name]
    text = inspect.cleandoc(command.help or "")
    assert f"prophase {name}" in text, f"the help of {name} shows no example"
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"


def test_asking_wrongly_leaves_with_two_and_nothing_on_stdout(prophase):
    for arguments in (("import",), ("nonsense",), ("import", "philly", "nowhere.csv")):
        done = prophase(*arguments)
        assert done.returncode == 2, arguments
        assert done.stdout == ""
        assert done.stderr


def test_a_traceback_comes_only_when_asked_for(prophase):
    quiet = prophase("import", "nosuch", ".")
    loud = prophase("import", "nosuch", ".", "--debug")
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr


def test_shell_completion_can_be_shown(prophase):
    done = prophase("--show-completion", "bash")
    assert done.returncode == 0
    assert "_PROPHASE_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "list"),
        ("import", "list", "-f", "csv"),
        ("import", "list", "-f", "json"),
        ("import", "--help"),
    ],
)
def test_a_reader_that_has_gone_ends_the_command_quietly(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [Path(sys.executable).parent / "prophase", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
