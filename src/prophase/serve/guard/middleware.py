"""The guard: an ASGI application around ours that every request passes."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prophase.errors import ProphaseError
from prophase.serve.guard.authentication import authenticated_caller
from prophase.serve.guard.browser_rules import (
    add_headers,
    is_loopback,
    refuse_other_names,
    refuse_other_sites,
)
from prophase.serve.guard.rate_limits import Buckets
from prophase.serve.problems import Problem, problem, status_of
from prophase.serve.settings import ServiceSettings
from prophase.serve.tokens import TokenStore

log = logging.getLogger("prophase.serve")
#: (method, route, status, seconds) of an answered request
Seen = Callable[[str, str, int, float], None]
#: wrong tokens that one address may send in a row, and how quickly it may again
_WRONG_TOKENS, _WRONG_PER_S = 20, 1 / 3


class Guard:
    """Limits, checks and counts requests.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    settings : ServiceSettings
        The limits.
    tokens : TokenStore
        Who may ask.
    seen : callable
        Told about every answer.
    """

    def __init__(
        self, app: ASGIApp, settings: ServiceSettings, tokens: TokenStore, seen: Seen
    ) -> None:
        self.app, self.settings, self.tokens, self.seen = app, settings, tokens, seen
        rate = settings.requests_per_s
        self._requests = Buckets(per_s=rate, burst=2 * rate)
        self._wrong = Buckets(per_s=_WRONG_PER_S, burst=_WRONG_TOKENS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limited = _Limited(receive, self.settings.max_body_bytes)
        answer = _Answer(send, limited, tls=self.settings.certificate is not None)
        began = time.perf_counter()
        try:
            self._admit(scope)
            async with asyncio.timeout(self.settings.timeout_s):
                await self.app(scope, limited.receive, answer.send)
        except TimeoutError:
            words = f"this took longer than {self.settings.timeout_s:g} s and was stopped."
            await answer.refuse(scope, Problem(503, words))
        except ProphaseError as error:
            await answer.refuse(scope, error)
        except Exception:
            mark = secrets.token_hex(4)
            log.exception("error %s inside the service", mark)
            words = f"an error inside Prophase; see the log of the service under {mark}."
            await answer.refuse(scope, Problem(500, words))
        finally:
            self._tell(scope, answer.status, time.perf_counter() - began)

    def _admit(self, scope: Scope) -> None:
        """Refuse what is too large, too often, or not meant for us; note who asks."""
        headers = Headers(scope=scope)
        if is_loopback(self.settings.host):
            refuse_other_names(headers, self.settings.names)
        refuse_other_sites(scope["method"], headers)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.settings.max_body_bytes:
            raise _too_large(self.settings.max_body_bytes)
        address = (scope.get("client") or ("unknown", 0))[0]
        asking = authenticated_caller(headers, self.tokens)
        wrong = asking.refusal is not None and asking.sent
        if wrong and (wait := self._wrong.wait_s(address)):
            raise _too_often(wait, "too many wrong tokens")
        caller = asking.name if asking.name != "anyone" else address
        if wait := self._requests.wait_s(caller):
            raise _too_often(
                wait, f"more than {self.settings.requests_per_s:g} requests per second"
            )
        scope.setdefault("state", {})["asking"] = asking

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = route_of(scope)
        self.seen(scope["method"], route, status, seconds)
        asking = scope.get("state", {}).get("asking")
        log.info(
            "%s %s %d %.1f ms %s",
            scope["method"], route, status, 1e3 * seconds, asking.name if asking else "-",
        )  # fmt: skip


def route_of(scope: Scope) -> str:
    """Return the template of the route that answered, such as ``/v1/profiles/{profile}``.

    Never the path or query that was sent: those may hold secrets, and have no end.
    """
    inner = getattr(scope.get("route"), "path", None)
    if inner is None:
        return "/static" if scope["path"].startswith("/static/") else "other"
    # the template lacks what its router was included with, which has no parameters
    sent, own = scope["path"].split("/"), inner.split("/")
    before = sent[1 : len(sent) - len(own) + 1] if len(sent) > len(own) else []
    return f"{'/'.join(['', *before])}{inner}"


class _Limited:
    """Reads a body and stops where it becomes too large."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most, self._read = receive, most, 0
        #: what to answer if it became too large
        self.refusal: Problem | None = None

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            if self._read > self._most:
                self.refusal = _too_large(self._most)
                raise self.refusal
        return message


class _Answer:
    """Sends an answer with our headers, and remembers whether it has begun."""

    def __init__(self, send: Send, limited: _Limited, *, tls: bool) -> None:
        self._send, self._limited, self._tls = send, limited, tls
        self.status, self.begun, self._over = 500, False, False

    async def send(self, message: Message) -> None:
        if self._limited.refusal is not None and message["type"].startswith("http.response"):
            # whoever read the body took it for one that cannot be parsed
            refusal, self._limited.refusal = self._limited.refusal, None
            await self.refuse({"type": "http"}, refusal)
            self._over = True
        if self._over:
            return
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            add_headers(MutableHeaders(scope=message), tls=self._tls)
        await self._send(message)

    async def refuse(self, scope: Scope, error: ProphaseError) -> None:
        """Answer with a problem, unless an answer has begun."""
        if self.begun:
            return
        headers = error.headers if isinstance(error, Problem) else None
        made = problem(status_of(error), str(error), code=type(error).__name__, headers=headers)
        await made(scope, _nothing, self.send)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _too_large(most: int) -> Problem:
    return Problem(413, f"the request is larger than {most:,} bytes. Send it in parts.")


def _too_often(wait_s: float, what: str) -> Problem:
    words = f"{what}. Wait {math.ceil(wait_s)} s and try again."
    return Problem(429, words, {"retry-after": str(math.ceil(wait_s))})
