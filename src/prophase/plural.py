"""Counts, lists and paths as people write them."""

from __future__ import annotations

import shlex
from pathlib import Path


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its word, in the singular if there is one.

    Parameters
    ----------
    one : str
        What stands behind a one, with its verb if a verb follows: ``"row has"``.
    many : str, optional
        What stands behind other counts, if it is not ``one`` with an s.

    Examples
    --------
    >>> counted(1, "job"), counted(1200, "job"), counted(2, "row has", "rows have")
    ('1 job', '1,200 jobs', '2 rows have')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(words: list[str], *, most: int = 5) -> str:
    """Join words as in a sentence, the rest as a number.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=1)
    ('a, b and c', 'a and 2 more')
    """
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def as_typed(path: Path | str) -> str:
    """Return a path as one would type it into a shell.

    Examples
    --------
    >>> as_typed(Path("my cluster"))
    "'my cluster'"
    """
    return shlex.quote(str(path))
