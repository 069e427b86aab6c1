"""Groups of commands that are imported when they are called, and what every command does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from prophase.cli.provenance import forget_provenance
from prophase.cli.settings import RENAMED, current_names, with_options
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from typer._click.core import Command as AnyCommand

#: options that take several values joined by commas, in some commands at least
_COMMAS = (
    "--cluster", "--order", "--place", "--queue", "--estimate", "--sharing", "--sizing", "--load",
    "--measure",
)  # fmt: skip


class Command(TyperCommand):
    """A command that knows the former names of its options, and notes its seed."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        args, old = current_names(args, getattr(self.callback, RENAMED, {}))
        for name in dict.fromkeys(old):
            typer.echo(f"{name} is now {getattr(self.callback, RENAMED)[name]}", err=True)
        self._refuse_repeated(ctx, args)
        return super().parse_args(ctx, args)

    def _refuse_repeated(self, ctx: typer.Context, args: list[str]) -> None:
        """Refuse two options where one with commas may be meant: the first would be lost."""
        given = Counter(self.make_parser(ctx).parse_args(args=list(args))[2])
        for option, times in given.items():
            if times > 1 and option.opts[0] in _COMMAS and not getattr(option, "multiple", False):
                name = option.opts[0]
                raise ParameterError(
                    f"{name} is given {times} times, and only the last would count. Give it once; "
                    f"where it takes several values, join them by commas: {name} A,B."
                )

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        forget_provenance(
            seed=ctx.params.get("seed"), command=ctx.command_path, help=self.help or ""
        )
        return super().invoke(ctx)


class LazyCommands(MutableMapping[str, "AnyCommand"]):
    """Commands by name, each imported when it is looked up.

    Parameters
    ----------
    package : str
        Where the modules are.
    homes : Mapping
        Name of a command or group -> ``module``, or ``module:function`` where it is not
        ``command``. A module with an ``app`` is a group.
    """

    def __init__(self, package: str, homes: Mapping[str, str]) -> None:
        self.package = package
        self.homes = dict(homes)
        self.built: dict[str, AnyCommand] = {}

    def __getitem__(self, name: str) -> AnyCommand:
        if name not in self.built:
            self.built[name] = _command(self.package, self.homes[name], name)
        return self.built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.homes | dict.fromkeys(self.built, ""))

    def __len__(self) -> int:
        return len(self.homes | dict.fromkeys(self.built, ""))

    def __contains__(self, name: object) -> bool:
        return name in self.homes or name in self.built

    def __setitem__(self, name: str, command: AnyCommand) -> None:
        self.built[name] = command

    def __delitem__(self, name: str) -> None:
        self.homes.pop(name)


class CommandGroup(TyperGroup):
    """A group whose commands are imported when needed; old names of them still work."""

    package: ClassVar[str]
    homes: ClassVar[Mapping[str, str]]
    #: old name of a command -> its name
    renamed: ClassVar[Mapping[str, str]] = {}
    #: ``prophase size ws`` is short for ``prophase size recommend ws``
    by_default: ClassVar[str] = ""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LazyCommands(self.package, self.homes)

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        named = bool(args) and (args[0] == "--help" or self.get_command(ctx, args[0]) is not None)
        if self.by_default and not named and (args or not self.no_args_is_help):
            args = [self.by_default, *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> AnyCommand | None:  # type: ignore[override]
        return super().get_command(ctx, self.renamed.get(cmd_name, cmd_name))

    def resolve_command(  # type: ignore[override]
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, AnyCommand | None, list[str]]:
        if args[0] in self.renamed:
            new = self.renamed[args[0]]
            typer.echo(f"{ctx.command_path} {args[0]} is now {ctx.command_path} {new}", err=True)
            args = [new, *args[1:]]
        return super().resolve_command(ctx, args)


def command_group(
    package: str,
    homes: Mapping[str, str],
    *,
    help: str,
    renamed: Mapping[str, str] | None = None,
    by_default: str = "",
    no_args_is_help: bool = True,
    base: type[CommandGroup] = CommandGroup,
    **settings: Any,
) -> typer.Typer:
    """Return a group of commands; see :class:`LazyCommands` and :class:`CommandGroup`."""
    held = {"package": package, "homes": homes, "renamed": renamed or {}, "by_default": by_default}
    return typer.Typer(
        cls=type(base.__name__, (base,), held),
        no_args_is_help=no_args_is_help,
        rich_markup_mode="markdown",
        help=help,
        **settings,
    )


def _command(package: str, home: str, name: str) -> AnyCommand:
    module, _, function = home.partition(":")
    found = import_module(f"{package}.{module}")
    if hasattr(found, "app") and not function:
        group = typer.main.get_group(found.app)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    settings = getattr(found, "CONTEXT", None)
    alone.command(name, cls=Command, context_settings=settings)(
        with_options(getattr(found, function or "command"))
    )
    return typer.main.get_command(alone)
