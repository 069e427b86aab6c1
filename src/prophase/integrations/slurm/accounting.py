"""Slurm's accounting, asked of ``sacct``, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prophase.errors import FetchError
from prophase.integrations.slurm.commands import SlurmCommands
from prophase.trace.readers.sacct_json import FIELDS, SEPARATOR, Row


def sacct_rows(commands: SlurmCommands, since_s: float) -> list[Row]:
    """Return every row, steps and earlier attempts included, that had not ended by a time."""
    offered = {name.lower() for name in commands.said("sacct", "-e").split()}
    names = [name for name in FIELDS if name.lower() in offered]
    printed = commands.said(
        "sacct", "-a", "-D", "-P", f"--delimiter={SEPARATOR}", "-S", f"uts{max(0, int(since_s))}",
        "-o", ",".join(names),
    )  # fmt: skip
    return list(parsed(printed, names))


def parsed(printed: str, names: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of what sacct printed; output that breaks off is refused as a whole."""
    lines = printed.split("\n")
    head = lines[0].split(SEPARATOR)
    if [word.lower() for word in head] != [name.lower() for name in names] or lines[-1]:
        raise _broken(printed)
    held = ""
    for line in lines[1:-1]:
        held = f"{held} {line}" if held else line
        found = held.count(SEPARATOR)
        if found < len(names) - 1:
            continue  # a user's line break inside a field
        if found > len(names) - 1:
            raise _broken(held)
        yield dict(zip(names, held.split(SEPARATOR), strict=True))
        held = ""
    if held:
        raise _broken(held)


def _broken(text: str) -> FetchError:
    end = text[-60:].replace(SEPARATOR, "|").replace("\n", " ")
    return FetchError(
        f"sacct: its output breaks off or is not what was asked for (...{end!r}). Nothing was "
        "taken; the next round asks again."
    )
