"""Files that are there whole or not at all, and folders that one process holds at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from prophase.errors import ProphaseError, storage_error


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is there as a whole or, after a crash, as it was before.

    Examples
    --------
    >>> target = getfixture("tmp_path") / "new" / "plan.txt"
    >>> write_whole(target, "fifo")
    >>> target.read_text(), [one.name for one in target.parent.iterdir()]
    ('fifo', ['plan.txt'])
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as out:
                out.write(content.encode() if isinstance(content, str) else content)
                out.flush()
                os.fsync(out.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as cause:
        raise storage_error(cause, path) from cause


def make_whole_folder(place: Path, fill: Callable[[Path], object]) -> None:
    """Have ``fill`` make a folder that is there whole or not at all; one that is there stays.

    Examples
    --------
    >>> place = getfixture("tmp_path") / "job"
    >>> make_whole_folder(place, lambda fresh: fresh.mkdir())
    >>> [one.name for one in place.parent.iterdir()]
    ['job']
    """
    if place.exists():
        return
    fresh = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(fresh, ignore_errors=True)
        fill(fresh)
        fresh.rename(place)
    except OSError as cause:
        shutil.rmtree(fresh, ignore_errors=True)
        # somebody else may have been quicker
        if not place.exists():
            raise storage_error(cause, place) from cause


@contextmanager
def held_by_one(lock: Path, refusal: ProphaseError) -> Iterator[None]:
    """Hold a folder by a lock file in it; while another process does, ``refusal`` is raised."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = lock.open("w")
    except OSError as cause:
        raise storage_error(cause, lock.parent) from cause
    with handle:
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError as cause:
            raise refusal from cause
        yield
