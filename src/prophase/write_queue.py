"""One thread that writes for all: what waits meanwhile is written together, in its order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class WriteQueue(Generic[Item]):
    """Hands items to one thread, which begins with the first of them.

    Parameters
    ----------
    write : callable
        Takes the items that wait, at least one; it must not raise.
    most : int
        Items that are written together at most.

    Examples
    --------
    >>> written = []
    >>> waiting = WriteQueue(written.extend, name="example")
    >>> for number in range(3):
    ...     waiting.put(number)
    >>> waiting.close()
    >>> written
    [0, 1, 2]
    """

    def __init__(
        self, write: Callable[[list[Item]], None], *, name: str, most: int = 2_000
    ) -> None:
        self._write, self._name, self._most = write, name, most
        self._waiting: queue.SimpleQueue[tuple[Item] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, item: Item) -> None:
        """Have an item written, and return at once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._waiting.put((item,))

    def close(self) -> None:
        """Write what waits, then stop; a later item begins again."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._waiting.put(None)
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        held = self._waiting.get()
        while held is not None:
            together = [*held]
            while len(together) < self._most and not self._waiting.empty():
                held = self._waiting.get()
                if held is None:
                    break
                together += held
            self._write(together)
            if held is not None:
                held = self._waiting.get()
