"""The rows of a CSV that is still being written, as they are completed."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from prophase.errors import FormatError, MissingFileError, storage_error

#: seconds between two looks at a file that has not grown
POLL_S = 0.5


def tail_rows(
    path: Path | str,
    *,
    follow: bool = True,
    poll_s: float = POLL_S,
    go_on: Callable[[], bool] = lambda: True,
) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV by column name; with ``follow``, wait for further ones.

    A row counts when its line has ended. A file that became shorter was started over, and is read
    from its header on. A row with more or fewer fields than the header is refused.

    Parameters
    ----------
    go_on : callable
        Asked before every wait; following ends when it says no.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "usage.csv"
    >>> _ = path.write_text("series_id,time_s,cpu\\na,1,2.5\\na,2,")
    >>> list(tail_rows(path, follow=False))
    [{'series_id': 'a', 'time_s': '1', 'cpu': '2.5'}]
    """
    source = Path(path)
    if not source.is_file():
        raise MissingFileError(f"{source}: there is no file at this path.")
    header: list[str] | None = None
    at, line_number, rest = 0, 0, b""
    while True:
        try:
            size = source.stat().st_size
            if size < at:
                header, at, line_number, rest = None, 0, 0, b""
            with source.open("rb") as stream:
                stream.seek(at)
                fresh = stream.read()
        except OSError as cause:
            raise storage_error(cause, source) from cause
        at += len(fresh)
        *lines, rest = (rest + fresh).split(b"\n")
        for line in lines:
            line_number += 1
            text = line.decode("utf-8", errors="replace").rstrip("\r")
            if not text:
                continue
            fields = next(csv.reader([text]))
            if header is None:
                header = fields
                continue
            if len(fields) != len(header):
                raise FormatError(
                    f"{source} line {line_number}: has {len(fields)} fields under {len(header)} "
                    "names. Correct what writes the file."
                )
            yield dict(zip(header, fields, strict=True))
        if fresh:
            continue
        if not follow or not go_on():
            return
        time.sleep(poll_s)
