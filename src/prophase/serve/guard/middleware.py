"""The guard: an ASGI application around ours that every request passes."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prophase.errors import ProphaseError
from prophase.serve.audit import AuditLog, is_audited
from prophase.serve.guard.authentication import authenticated_caller, secret_of
from prophase.serve.guard.browser_rules import (
    add_headers,
    is_loopback,
    refuse_other_names,
    refuse_other_sites,
)
from prophase.serve.guard.fair_shares import FairShares
from prophase.serve.guard.oidc import OidcProvider
from prophase.serve.guard.rate_limits import Buckets
from prophase.serve.problems import Problem, problem, status_of
from prophase.serve.settings import ServiceSettings
from prophase.serve.tokens import TokenStore
from prophase.serve.tracing import Tracing, span

log = logging.getLogger("prophase.serve")
#: (method, route, status, seconds) of an answered request
Seen = Callable[[str, str, int, float], None]
#: a body of so many bytes is a large one
_LARGE = 64 << 10
#: requests of one caller that are answered at the same time: all, and those with a large body
_AT_ONCE, _LARGE_AT_ONCE = 256, 2
#: largest body of who sends no token, or a wrong one; an admission review has up to 1.5 MiB
_MOST_OF_STRANGERS = 2 << 20
#: wrong tokens that one address may send in a row, and how quickly it may again
_WRONG_TOKENS, _WRONG_PER_S = 20, 1 / 3


def limits_of(settings: ServiceSettings) -> dict[str, Buckets]:
    """Return how often callers may ask, and addresses may send wrong tokens."""
    rate = settings.requests_per_s
    return {
        "requests": Buckets(per_s=rate, burst=2 * rate),
        "wrong": Buckets(per_s=_WRONG_PER_S, burst=_WRONG_TOKENS),
    }


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
    audit : AuditLog
        Where changes are noted.
    buckets : mapping, optional
        How often callers may ask, as :func:`limits_of` returns it.
    oidc : OidcProvider, optional
        Whose tokens count beside ours.
    tracing : Tracing, optional
        Where spans of requests go.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServiceSettings,
        tokens: TokenStore,
        seen: Seen,
        audit: AuditLog,
        buckets: Mapping[str, Buckets] | None = None,
        oidc: OidcProvider | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self.app, self.settings, self.tokens, self.seen = app, settings, tokens, seen
        self.audit, self.oidc, self.tracing = audit, oidc, tracing
        self._shares = FairShares(large=_LARGE_AT_ONCE, small=_AT_ONCE)
        limits = buckets or limits_of(settings)
        self._requests, self._wrong = limits["requests"], limits["wrong"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.tracing is None:
            await self._pass(scope, receive, send)
            return
        with self.tracing.request(dict(Headers(scope=scope))) as made:
            status = await self._pass(scope, receive, send)
            asking = scope.get("state", {}).get("asking")
            caller = asking.name if asking else "-"
            self.tracing.answered(made, scope["method"], route_of(scope), status, caller)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Answer a request, or refuse it; return the status."""
        limited = _Limited(receive, self._most_bytes(scope))
        answer = _Answer(send, limited, tls=self.settings.certificate is not None)
        began = time.perf_counter()
        try:
            await self._know_keys(scope)
            with span("admit"):
                caller, large = self._admit(scope)
            async with (
                asyncio.timeout(self.settings.timeout_s),
                self._shares.of(caller, large=large),
            ):
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
        return answer.status

    def _most_bytes(self, scope: Scope) -> int:
        """Return the largest body that is read; it is read before anybody looks at the token."""
        most = self.settings.max_body_bytes
        headers = Headers(scope=scope)
        if "authorization" in headers or "cookie" in headers or self.tokens.is_open:
            return most
        return min(most, _MOST_OF_STRANGERS)

    async def _know_keys(self, scope: Scope) -> None:
        """Ask the provider for the key of a token off the event loop, before anybody needs it."""
        if self.oidc is not None:
            token = secret_of(Headers(scope=scope))
            if token is not None and self.oidc.needs_keys(token):
                await asyncio.to_thread(self.oidc.fetch_keys)

    def _admit(self, scope: Scope) -> tuple[str, bool]:
        """Refuse what is too large, too often, or not meant for us; note who asks.

        Returns who it is for fair shares, and whether the body is a large one.
        """
        headers = Headers(scope=scope)
        if is_loopback(self.settings.host):
            refuse_other_names(headers, self.settings.names)
        refuse_other_sites(scope["method"], headers)
        said = headers.get("content-length", "")
        # who does not say how long a body is may send a large one
        length = int(said) if said.isdecimal() else _LARGE * ("transfer-encoding" in headers)
        if length > self.settings.max_body_bytes:
            raise _too_large(self.settings.max_body_bytes)
        address = (scope.get("client") or ("unknown", 0))[0]
        asking = authenticated_caller(headers, self.tokens, address, self.oidc)
        wrong = asking.refusal is not None and asking.sent
        if wrong and (wait := self._wrong.wait_s(address)):
            raise _too_often(wait, "too many wrong tokens")
        if asking.refusal is not None and length > _MOST_OF_STRANGERS:
            raise asking.refusal
        caller = asking.name if asking.name != "anyone" else address
        # a large request takes as much of a caller's share as the small ones it stands for
        if wait := self._requests.wait_s(caller, cost=1.0 + length / _LARGE):
            raise _too_often(
                wait, f"more than {self.settings.requests_per_s:g} requests per second"
            )
        scope.setdefault("state", {})["asking"] = asking
        return caller, length >= _LARGE

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = route_of(scope)
        self.seen(scope["method"], route, status, seconds)
        asking = scope.get("state", {}).get("asking")
        if is_audited(scope["method"], route, status):
            self.audit.add(
                asking.name if asking else "unknown",
                (asking.role if asking else None) or "none",
                (scope.get("client") or ("unknown", 0))[0],
                f"{scope['method']} {route}",
                status=status,
                details=scope.get("state", {}).get("audit"),
            )
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
