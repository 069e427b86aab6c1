"""Fair shares: no caller holds all threads and processors while others wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prophase.serve.problems import Problem

#: large requests of one caller that wait for their turn
_MOST_WAITING = 8


class FairShares:
    """Counts the requests of each caller that are being answered.

    Parameters
    ----------
    large : int
        Requests with a large body of one caller that are answered at the same time; some more
        wait for their turn.
    small : int
        Requests of one caller that are answered at the same time; further ones are refused.
    """

    def __init__(self, *, large: int, small: int) -> None:
        self._large, self._small = large, small
        self._going: dict[str, int] = {}
        self._turns: dict[str, tuple[asyncio.Semaphore, int]] = {}

    @asynccontextmanager
    async def of(self, caller: str, *, large: bool) -> AsyncIterator[None]:
        """Hold a share while a request is answered."""
        going = self._going.get(caller, 0)
        if going >= self._small:
            raise Problem(
                429,
                f"{going} requests of yours are being answered. Wait for one of them to end.",
                {"retry-after": "1"},
            )
        self._going[caller] = going + 1
        try:
            if large:
                async with self._turn(caller):
                    yield
            else:
                yield
        finally:
            self._going[caller] -= 1
            if not self._going[caller]:
                del self._going[caller]

    @asynccontextmanager
    async def _turn(self, caller: str) -> AsyncIterator[None]:
        turns, held = self._turns.get(caller, (asyncio.Semaphore(self._large), 0))
        if held >= self._large + _MOST_WAITING:
            raise Problem(
                429,
                f"{held} large requests of yours are waiting. Send them one after the other.",
                {"retry-after": "1"},
            )
        self._turns[caller] = (turns, held + 1)
        try:
            async with turns:
                yield
        finally:
            turns, held = self._turns[caller]
            if held > 1:
                self._turns[caller] = (turns, held - 1)
            else:
                del self._turns[caller]
