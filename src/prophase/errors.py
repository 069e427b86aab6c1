"""Every exception Prophase raises.

::

    ProphaseError
      InputError            the user's files or tables
        MissingFileError      nothing to read at that path
        FormatError           not the format it should be: empty, binary, truncated, wrong header
        MissingColumnError    a column that is needed is not there
        BadRowsError          more rows than allowed could not be understood
        FanOutError           a join would multiply rows, because its key is not unique
        SchemaError           a table breaks the rules of its schema
      ParameterError        an argument or option out of its range
      WorkspaceError        the workspace folder: absent, busy, or holding something else
      StorageError          the file system said no: permission, no space left
      FetchError            a download that failed or did not match its checksum
      ModelFileError        a model bundle that is damaged, foreign or too new
      MissingExtraError     an optional dependency is not installed
      DatabaseError         the table of runs: unreachable, of another version, or not a database
      RefusedError          a run is in a state that does not allow what was asked
      ExecutorError         what should deploy, execute or profile a run said no

A message says what was wrong, where, and what to do.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self


class ProphaseError(Exception):
    """Base of everything Prophase raises on purpose."""

    #: what the command line returns: 1 = ran and found a problem, 2 = asked wrongly
    exit_code = 1

    @classmethod
    def among(
        cls,
        said: str,
        word: str,
        known: Iterable[str],
        *,
        heading: str = "Known",
        none: str = "none",
        most: int | None = None,
    ) -> Self:
        """Return the error about a word that is not one of the known ones; see `not_among`."""
        return cls(not_among(said, word, known, heading=heading, none=none, most=most))


class InputError(ProphaseError):
    """The user's files or tables cannot be used as they are."""


class MissingFileError(InputError):
    """There is nothing to read at the given path."""

    exit_code = 2


class FormatError(InputError):
    """A file is not in the format its reader expects."""


class MissingColumnError(InputError):
    """A needed column is absent."""


class BadRowsError(InputError):
    """More rows than allowed could not be understood."""


class FanOutError(InputError):
    """A join would multiply rows because its key is not unique."""


class SchemaError(InputError):
    """A table breaks the rules of its schema."""


class ParameterError(ProphaseError):
    """An argument or option is outside its range."""

    exit_code = 2


class WorkspaceError(ProphaseError):
    """The workspace is absent, busy, or holds something that would be lost."""


class StorageError(ProphaseError):
    """The file system refused: no permission, no space, read-only."""


class FetchError(ProphaseError):
    """A download failed or did not match its checksum."""


class ModelFileError(ProphaseError):
    """A model bundle is damaged, foreign or newer than this version."""


class MissingExtraError(ProphaseError):
    """An optional dependency is not installed."""

    exit_code = 2

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs an optional part: pip install "prophase[{extra}]"')


class DatabaseError(ProphaseError):
    """The table of runs cannot be reached or understood."""


class RefusedError(ProphaseError):
    """A run is in a state that does not allow what was asked."""


class ExecutorError(ProphaseError):
    """An executor could not deploy, execute or profile a run."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint such as ``Did you mean 'philly'?``, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"Did you mean {close[0]!r}?" if close else ""


def not_among(
    said: str,
    word: str,
    known: Iterable[str],
    *,
    heading: str = "Known",
    none: str = "none",
    most: int | None = None,
) -> str:
    """Return the message about a word that is not one of the known ones.

    Parameters
    ----------
    said : str
        What was wrong, as a sentence.
    heading, none : str
        What stands before the known words, and in their place if there are none.
    most : int, optional
        How many of the known words are shown.

    Examples
    --------
    >>> not_among("order 'fifi' is unknown.", "fifi", ["fifo", "shortest"])
    "order 'fifi' is unknown. Did you mean 'fifo'? Known: fifo, shortest."
    """
    words = list(known)
    shown = words[:most]
    listed = ", ".join(shown) or none
    listed += f" and {len(words) - len(shown):,} more" if len(shown) < len(words) else ""
    return " ".join(filter(None, [said, nearest(word, words), f"{heading}: {listed}."]))


@contextmanager
def storage_errors(path: Path | str) -> Iterator[None]:
    """Say in our words what the file system refuses at ``path`` inside the block."""
    try:
        yield
    except OSError as cause:
        raise storage_error(cause, path) from cause


def storage_error(cause: OSError, path: Path | str) -> StorageError:
    """Say in our words what the file system refused at ``path``."""
    advice = {
        errno.EACCES: "no permission. Change its owner or mode, or choose another folder.",
        errno.EPERM: "not permitted. Change its owner or mode, or choose another folder.",
        errno.ENOSPC: "no space left on the device. Free some space, then run the same command.",
        errno.EDQUOT: "the disk quota is used up. Free some space, then run the same command.",
        errno.EFBIG: "the file becomes larger than allowed. Raise the limit (ulimit -f), then run "
        "the same command.",
        errno.EEXIST: "is a file, not a folder. Choose another name.",
        errno.ENOTDIR: "a part of this path is a file, not a folder. Choose another place.",
        errno.ENOENT: "there is no such file or folder. Check the path; a folder to write "
        "to must be there already.",
        errno.EROFS: "the file system is read-only. Choose another folder.",
    }
    said = advice.get(cause.errno or 0, f"{cause.strerror or cause}.")
    return StorageError(f"{path}: {said}")
