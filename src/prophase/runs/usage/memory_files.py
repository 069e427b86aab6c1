"""Files in ``/dev/shm``: memory that is in no process's RSS. Standard library only."""

from __future__ import annotations

import os
from contextlib import suppress

_FOLDER = "/dev/shm"
_MOST_FILES = 5000


class MemoryFiles:
    """What the files in memory have grown by, and how much of that is surely the command's.

    A file is the command's once one of its processes has been seen with it open.
    """

    def __init__(self, folder: str = _FOLDER) -> None:
        self.folder = folder
        self._before = dict(_files(folder))
        self._ours: set[int] = set()

    def held_bytes(self, pids: list[int]) -> tuple[int, int]:
        """Return the growth of files that these processes have written, and of all others."""
        grown = [
            (inode, held - self._before.get(inode, 0))
            for inode, held in _files(self.folder)
            if held > self._before.get(inode, 0)
        ]
        if any(inode not in self._ours for inode, _ in grown):
            self._ours |= {inode for pid in pids for inode in _opened(pid, self.folder)}
        ours = sum(by for inode, by in grown if inode in self._ours)
        return ours, sum(by for _, by in grown) - ours


def _files(folder: str) -> list[tuple[int, int]]:
    """Return inode and bytes held of the files below a folder."""
    found: list[tuple[int, int]] = []
    waiting = [folder]
    while waiting and len(found) < _MOST_FILES:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        about = entry.stat(follow_symlinks=False)
                        found.append((about.st_ino, about.st_blocks * 512))
    return found


def _opened(pid: int, folder: str) -> list[int]:
    """Return the inodes of files below a folder that a process has open or mapped."""
    found = []
    for kind in ("fd", "map_files"):
        place = f"/proc/{pid}/{kind}"
        with suppress(OSError):
            for name in os.listdir(place):  # noqa: PTH208
                with suppress(OSError):
                    if os.readlink(f"{place}/{name}").startswith(f"{folder}/"):  # noqa: PTH115
                        found.append(os.stat(f"{place}/{name}").st_ino)  # noqa: PTH116
    return found
