"""Compiled loops over plain arrays. They check nothing; their callers have.

Numba keeps compiled code on disk and looks only at a function's own file to see whether it
is still good. These files call each other, and policies call them, so a change in one makes
all of them compile again.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def _forget_stale_code() -> None:
    """Remove compiled code that is older than the newest source it may contain."""
    beside = [_FOLDER.parent / name for name in ("signatures.py", "array_groups.py")]
    sources = [*_FOLDER.rglob("*.py"), *beside]
    newest = max(path.stat().st_mtime for path in sources)
    for compiled in _FOLDER.parent.rglob("__pycache__/*.nb[ic]"):
        try:
            if compiled.stat().st_mtime < newest:
                compiled.unlink()
        except OSError:
            # another process was quicker, or the folder is read-only and never edited
            continue


_forget_stale_code()
