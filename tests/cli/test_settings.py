from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from prophase.cli.command_group import Command
from prophase.cli.settings import Formerly, with_options
from prophase.errors import ParameterError


@dataclass(frozen=True)
class Machines:
    nodes: Annotated[int, typer.Option(help="Nodes."), Formerly("--hosts")] = 1
    kind: Annotated[str, typer.Option("--type", "-t", help="Type."), Formerly("--sort")] = "a"


def command(
    name: Annotated[str, typer.Argument(help="Name.")],
    machines: Machines = Machines(nodes=4),  # noqa: B008
    tags: Annotated[list[str] | None, typer.Option("--tag")] = None,
) -> None:
    """Say what came in."""
    typer.echo(f"{name} {machines.nodes} {machines.kind} {tags}")


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    made.command(cls=Command)(with_options(command))
    return made


def test_a_settings_class_becomes_one_option_per_field():
    shown = inspect.signature(with_options(command)).parameters
    assert list(shown) == ["name", "nodes", "kind", "tags"]


def test_the_function_is_handed_the_built_settings(app):
    done = CliRunner().invoke(app, ["x", "--nodes", "9", "-t", "b", "--tag", "u", "--tag", "v"])
    assert done.output == "x 9 b ['u', 'v']\n"


def test_the_default_of_the_parameter_is_that_of_its_options(app):
    assert CliRunner().invoke(app, ["x"]).output == "x 4 a None\n"


def test_an_old_name_works_and_says_the_new_one_on_stderr(app):
    done = CliRunner().invoke(app, ["x", "--hosts=2", "--sort", "c", "--sort", "d"])
    assert done.stdout == "x 2 d None\n"
    assert done.stderr == "--hosts is now --nodes\n--sort is now --type\n"


def test_an_old_name_behind_two_dashes_belongs_to_another_program(app):
    done = CliRunner().invoke(app, ["--", "--hosts"])
    assert done.stdout == "--hosts 4 a None\n"


def test_two_options_are_refused_where_one_with_commas_may_be_meant():
    def cells(
        cluster: Annotated[str, typer.Option()] = "", seed: Annotated[int, typer.Option()] = 0
    ) -> None:
        typer.echo(f"{cluster} {seed}")

    made = typer.Typer()
    made.command(cls=Command)(cells)
    said = CliRunner().invoke(made, ["--cluster", "1x8", "--cluster=2x8"])
    assert isinstance(said.exception, ParameterError)
    assert "join them by commas: --cluster A,B" in str(said.exception)
    assert CliRunner().invoke(made, ["--seed", "1", "--seed", "2"]).output == " 2\n"
