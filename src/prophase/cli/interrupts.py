"""Ctrl-C is never lost, whatever Python was doing when it came."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: long enough for the destructor and its hook to end
_SOON_S = 0.01


@contextmanager
def interrupts_passed_on() -> Iterator[None]:
    """Interrupt again what Ctrl-C hit inside a destructor, where Python only remarks on it."""
    before = sys.unraisablehook

    def hook(about: UnraisableHookArgs) -> None:
        if not issubclass(about.exc_type, KeyboardInterrupt):
            before(about)
            return
        again = threading.Timer(_SOON_S, _thread.interrupt_main)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
