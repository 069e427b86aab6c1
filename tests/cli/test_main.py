from __future__ import annotations

import errno
import inspect
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from prophase import __version__
from prophase.cli import main, provenance
from prophase.cli.main import COMMANDS, app
from prophase.trace.workspace import Workspace


def test_the_version_is_printed(prophase):
    assert prophase("--version").stdout == f"prophase {__version__}\n"


def test_no_command_prints_the_help(prophase):
    done = prophase()
    assert "Usage: prophase" in done.stdout + done.stderr


@cache
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


def test_a_file_that_the_system_refuses_is_told_in_words(monkeypatch, capsys):
    def refused(**_: object) -> None:
        raise OSError(errno.EIO, "Input/output error", "models/phases.model")

    monkeypatch.setattr(main, "app", refused)
    monkeypatch.setattr(sys, "argv", ["prophase", "phase", "fit"])
    with pytest.raises(SystemExit):
        main.run()
    assert capsys.readouterr().err == "prophase: models/phases.model: Input/output error.\n"


def test_asking_wrongly_leaves_with_two_and_nothing_on_stdout(prophase_here):
    for arguments in (("import",), ("nonsense",), ("import", "philly", "nowhere.csv")):
        done = prophase_here(*arguments)
        assert done.returncode == 2, arguments
        assert done.stdout == ""
        assert done.stderr


def test_a_traceback_comes_only_when_asked_for(prophase, prophase_here):
    quiet = prophase_here("import", "nosuch", ".")
    loud = prophase("import", "nosuch", ".", "--debug")
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr


def test_shell_completion_can_be_shown(prophase):
    # the shell is named here: which one started the tests does not matter
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = prophase("--show-completion", "bash", **named)
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


#: they run a program or answer line by line, and have no result of their own to write
WITHOUT_RESULT = {"log", "retry", "size watch", "serve start", "autoscale run", "mcp"}


@pytest.mark.parametrize("name", all_commands())
def test_every_command_with_a_result_writes_it_as_json_too(name):
    command = all_commands()[name]
    if hasattr(command, "commands") or name in WITHOUT_RESULT:
        return
    assert any("--format" in parameter.opts for parameter in command.params)


def test_json_is_short_for_its_format_anywhere_but_behind_two_dashes(prophase_here, tmp_path):
    before = prophase_here("--json", "synth", "pai", "--jobs", "50", "--days", "1", "--out", "ws")
    assert json.loads(before.stdout)["version"] == __version__
    behind = prophase_here("sample", "ws", "--json", "--seed", "3")
    told = json.loads(behind.stdout)
    assert told["seed"] == 3
    assert told["data_hash"] == Workspace(tmp_path / "ws").tables["jobs"].source_hash
    theirs = prophase_here("log", "--out", "u.csv", "--", sys.executable, "-c", "0", "--json")
    assert theirs.returncode == 0, theirs.stderr


def test_no_command_reads_a_trace_without_noting_its_hash():
    folder = Path(provenance.__file__).parent
    for path in folder.rglob("*.py"):
        if path.name != "provenance.py":
            assert "trace.trace_tables import open_trace" not in path.read_text(), path
