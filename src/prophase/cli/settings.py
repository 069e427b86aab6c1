"""Commands whose options come in classes: what several of them share is written once.

A parameter of a command may be a frozen dataclass, its fields annotated as Typer's options. The
command line shows one option per field, and the function is handed the built object::

    @dataclass(frozen=True)
    class Seed:
        seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0


    def command(path: TraceArgument, random: Seed = Seed(42)) -> None: ...

The default of the parameter, where it has one, is that of the options. ``Formerly`` beside an
option gives the names it had: they work for one more release, hidden, with a remark.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

#: a function's attribute: old name of an option -> its name
RENAMED = "renamed_options"


@dataclass(frozen=True, init=False)
class Formerly:
    """The names that an option had before; used inside ``Annotated``."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command's function with every settings class replaced by its options."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        settings = parameter.annotation
        if not (isinstance(settings, type) and is_dataclass(settings)):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        options = _options(parameter)
        parameters += options
        groups[parameter.name] = (settings, [option.name for option in options])
    renamed = _renamed(parameters)
    if not groups:
        setattr(function, RENAMED, renamed)
        return function

    @wraps(function)
    def command(**values: Any) -> None:
        built = {
            name: settings(**{field: values.pop(field) for field in held})
            for name, (settings, held) in groups.items()
        }
        function(**values, **built)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    setattr(command, RENAMED, renamed)
    return command


def current_names(arguments: list[str], renamed: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the arguments with options by their current names, and the old ones that were used.

    What follows ``--`` belongs to another program.

    Examples
    --------
    >>> current_names(["job.yaml", "--history=ws"], {"--history": "--workspace"})
    (['job.yaml', '--workspace=ws'], ['--history'])
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    found, old = [], []
    for word in arguments[:end]:
        name, equals, value = word.partition("=")
        if name in renamed:
            old.append(name)
            word = renamed[name] + equals + value
        found.append(word)
    return found + arguments[end:], old


def _options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """One parameter per field of a settings class, keyword only."""
    hints = get_type_hints(parameter.annotation, include_extras=True)
    given = parameter.default
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=_default(field) if given is parameter.empty else getattr(given, field.name),
        )
        for field in fields(parameter.annotation)
    ]


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _renamed(parameters: list[inspect.Parameter]) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter in parameters:
        if get_origin(parameter.annotation) is not Annotated:
            continue
        _, *remarks = get_args(parameter.annotation)
        now = f"--{parameter.name.replace('_', '-')}"
        for option in remarks:
            if isinstance(option, OptionInfo) and isinstance(option.default, str):
                now = option.default  # the first name, as it is written in Annotated
        for old in remarks:
            if isinstance(old, Formerly):
                found |= dict.fromkeys(old.names, now)
    return found
