"""The public traces that ``prophase fetch`` knows, from ``catalogue.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Literal

from prophase.errors import ParameterError
from prophase.json_types import JsonObject

#: who vouches for a checksum: the trace's owner, or copies of the same version
Basis = Literal["owner", "copies"]
_BASES = ("owner", "copies")


@dataclass(frozen=True)
class RemoteFile:
    """One file of a public trace."""

    name: str
    urls: tuple[str, ...]
    #: bytes, about
    size: int | None = None
    sha256: str | None = None
    basis: Basis | None = None
    #: only fetched when asked for
    optional: bool = False


@dataclass(frozen=True)
class PublicTrace:
    """One public trace: its files, and what a user of it has to know."""

    name: str
    title: str
    licence: str
    cite: str
    page: str
    files: tuple[RemoteFile, ...]
    #: address of the owner's list of checksums
    sums: str | None = None
    #: reader that takes the files as they are
    reader: str | None = None

    def chosen(self, only: Sequence[str] = ()) -> list[RemoteFile]:
        """Return the files to fetch: those that fit a pattern, or all but the optional ones."""
        if not only:
            return [file for file in self.files if not file.optional]
        found = [file for file in self.files if any(fnmatch(file.name, p) for p in only)]
        if not found:
            names = ", ".join(file.name for file in self.files[:8])
            more = f" and {len(self.files) - 8} more" if len(self.files) > 8 else ""
            raise ParameterError(
                f"--only {' '.join(only)}: no file of {self.name} fits. It has {names}{more}."
            )
        return found


@cache
def all_public_traces() -> dict[str, PublicTrace]:
    """Return the catalogue by name."""
    text = files("prophase.trace.fetch").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return parse_catalogue(text)


def public_trace(name: str) -> PublicTrace:
    """Return one entry of the catalogue, or say which there are.

    Examples
    --------
    >>> public_trace("philly").files[0].name
    'trace-data.tar.gz'
    """
    known = all_public_traces()
    if name not in known:
        raise ParameterError.among(
            f"there is no public trace {name!r} in the catalogue.", name, known, heading="It has"
        )
    return known[name]


def parse_catalogue(text: str) -> dict[str, PublicTrace]:
    """Read a catalogue, and refuse entries that could write outside their folder."""
    return {
        name: PublicTrace(name, **{**entry, "files": _files(entry)})
        for name, entry in tomllib.loads(text).items()
    }


def _files(entry: JsonObject) -> tuple[RemoteFile, ...]:
    return tuple(one for raw in entry["files"] for one in _expanded(raw))


def _expanded(raw: JsonObject) -> Iterator[RemoteFile]:
    """Yield the file, or each numbered part of it."""
    first = raw.get("first", 0)
    for number in range(first, first + raw.get("parts", 1)):
        part = str(number).zfill(raw.get("digits", 1))
        yield _checked(
            RemoteFile(
                name=raw["name"].replace("{part}", part),
                urls=tuple(url.replace("{part}", part) for url in raw["urls"]),
                size=raw.get("size"),
                sha256=raw.get("sha256"),
                basis=raw.get("basis"),
                optional=raw.get("optional", False),
            )
        )


def _checked(file: RemoteFile) -> RemoteFile:
    path = PurePosixPath(file.name)
    safe = not path.is_absolute() and ".." not in path.parts and "\\" not in file.name
    if not safe or not path.name or path.name.startswith("."):
        raise ParameterError(f"catalogue: the file name {file.name!r} leads out of its folder.")
    if not file.urls or (file.sha256 is None) != (file.basis is None):
        raise ParameterError(f"catalogue: {file.name} needs an address, and a basis per checksum.")
    if file.basis not in (None, *_BASES) or len(file.sha256 or "0" * 64) != 64:
        raise ParameterError(f"catalogue: {file.name} has a basis or checksum that is not one.")
    return file
