"""Write the pages of docs/reference that are made from the code they describe.

python tools/make_reference.py          write them
python tools/make_reference.py --check  only say whether they are up to date
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api_reference import api_pages
from typer.main import get_command

from prophase.cli.main import app
from prophase.trace.reader import all_readers
from prophase.trace.row_rules import KEEP_RULES
from prophase.trace.schema import SCHEMAS

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
_MADE = "<!-- made by tools/make_reference.py from the code; do not edit -->\n"


def cli_page() -> str:
    """Every command with its arguments, options and examples."""
    parts = ["# Commands\n", "Every command the `prophase` program knows.\n"]
    for path, command in _commands("prophase", get_command(app)):
        if getattr(command, "commands", None):
            continue
        parts += [f"## `{path}`\n", inspect.cleandoc(command.help or "") + "\n"]
        rows = [_parameter(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            parts += ["| argument or option | default | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(parts)


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(f"{path} {name}", child)


def _parameter(parameter: Any) -> str:
    options = [*parameter.opts, *parameter.secondary_opts]
    named = parameter.param_type_name == "option"
    name = ", ".join(f"`{o}`" for o in options) if named else f"`{(parameter.name or '').upper()}`"
    default = parameter.default
    shown = "" if default is None or callable(default) or default is False else f"`{default}`"
    text = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    return f"| {name} | {shown} | {text} |"


def schema_page() -> str:
    """The three tables, column by column."""
    parts = [
        "# Tables and columns\n",
        "Every source becomes these three tables. Unknown is missing, never 0. *known* says when a",
        "value is there: a `key` names the row, `submit` is known when the job is submitted,",
        "`after` only later; predictors accept `submit` columns alone.\n",
    ]
    for schema in SCHEMAS.values():
        parts += [
            f"## {schema.name}\n",
            "| column | unit | range | known | meaning |",
            "|---|---|---|---|---|",
        ]
        for c in schema:
            low = "" if c.low is None else f"{c.low:g}"
            high = "" if c.high is None else f"{c.high:g}"
            span = (
                f"{low} .. {high}".strip() if low or high else ("text" if c.kind == "text" else "")
            )
            name = f"`{c.name}`" + (" (required)" if c.required else "")
            parts.append(f"| {name} | {c.unit} | {span} | {c.known} | {c.text} |")
        if schema.prefixes:
            prefixes = " and ".join(f"`{p}*`" for p in schema.prefixes)
            parts.append(f"\nFurther columns of a source are named {prefixes}.")
        if schema.open_metrics:
            parts.append("\nAny further column is a metric: a number, its unit in its name.")
        parts.append("")
    return "\n".join(parts)


def sources_page() -> str:
    """Every reader: what it fills and what it cannot."""
    parts = [
        "# Sources\n",
        "`prophase import SOURCE PATH` reads these. A folder or a single file will do, plain or",
        "packed (`.gz`, `.bz2`, `.xz`, `.zip`, `.tar.gz`).\n",
    ]
    for reader in all_readers().values():
        parts += [f"## {reader.name}\n", f"{reader.title}.\n"]
        for table, columns in reader.fills.items():
            parts.append(f"- fills **{table}**: {', '.join(f'`{c}`' for c in columns)}")
        parts.append(f"- cannot tell: {reader.cannot}")
        parts.append(
            f"- clock: {reader.clock}; files: {', '.join(f'`{p}`' for p in reader.patterns)}"
        )
        parts += [f"- `--option {name}=...`: {text}" for name, text in reader.options.items()]
        parts.append("")
    parts += ["## Rules for `--keep`\n", "| rule | keeps |", "|---|---|"]
    parts += [f"| `{name}` | {rule.text} |" for name, rule in KEEP_RULES.items()]
    return "\n".join([*parts, ""])


PAGES = {"cli.md": cli_page, "schema.md": schema_page, "sources.md": sources_page}


def main() -> int:
    """Write the pages, or compare them."""
    stale = []
    pages = {name: make() for name, make in PAGES.items()} | api_pages()
    for name, page in pages.items():
        path, text = REFERENCE / name, _MADE + page.rstrip() + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"Out of date: {', '.join(stale)}. Run: python tools/make_reference.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
