"""A Prometheus server over its plain HTTP interface: asked in parts, gently, and again if need be.

Any server that answers ``/api/v1/query`` and ``/api/v1/query_range`` will do: Prometheus, Thanos,
Mimir, VictoriaMetrics.
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject

#: a Prometheus server refuses more points than this per series and answer
_MOST_POINTS = 11_000
#: answers that may be better next time
_PASSING = (408, 429, 500, 502, 503, 504)
#: how a server says that an answer would be too large or take too long
_TOO_MUCH = ("too many samples", "timed out", "exceeded maximum", "timeout", "too long")
_LONGEST_WAIT_S = 30.0
#: where a token is looked for unless one is given
TOKEN = "PROPHASE_PROMETHEUS_TOKEN"


@dataclass(frozen=True)
class PrometheusSeries:
    """One series of an answer."""

    labels: Mapping[str, str]
    times_s: tuple[float, ...]
    values: tuple[float, ...]


class _TooMuch(InputError):
    """The server refused an answer of this size; a shorter span may do."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another address."""

    def redirect_request(self, *_: object) -> None:
        return None


class Prometheus:
    """A server to ask.

    Parameters
    ----------
    url : str
        Its address, such as ``http://localhost:9090``.
    token : str, optional
        Bearer token; that of the environment variable ``PROPHASE_PROMETHEUS_TOKEN`` if not given.
        It is never part of a message.
    tries : int, default=4
        How often a question is asked while the server is busy or away.
    wait, now : callable
        How to wait, and the clock that measures it.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        per_second: float = 20.0,
        tries: int = 4,
        timeout_s: float = 60.0,
        wait: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(f"{url}: write the address as http://HOST:PORT.")
        if parts.username or parts.password:
            raise ParameterError(
                "the address of Prometheus holds a name or password, which would be shown in "
                f"messages. Leave it out and put a token into {TOKEN}."
            )
        if not per_second > 0 or tries < 1:
            raise ParameterError("Prometheus: per_second is above 0, and tries is 1 or more.")
        self.url = url.rstrip("/")
        self.tries, self.timeout_s = tries, timeout_s
        self._between_s = 1.0 / per_second
        self._token = os.environ.get(TOKEN) if token is None else token
        self._wait, self._now = wait, now
        self._next_s = 0.0
        self._opener = urllib.request.build_opener(_NoRedirect())

    def range(
        self, query: str, start_s: float, end_s: float, step_s: float
    ) -> Iterator[PrometheusSeries]:
        """Yield the series of an expression over a span; the span is asked for in parts.

        A part that the server finds too large is asked for in halves.
        """
        for begin, end in _spans(start_s, end_s, step_s):
            yield from self._part(query, begin, end, step_s)

    def instant(self, query: str, at_s: float) -> list[tuple[dict[str, str], float]]:
        """Return labels and value of every series of an expression at one time."""
        found = self._ask("query", query, {"time": f"{at_s:.3f}"})
        return [(_labels(one), float(_pair(one.get("value"))[1])) for one in found]

    def _part(
        self, query: str, start_s: float, end_s: float, step_s: float
    ) -> Iterator[PrometheusSeries]:
        asked = {"start": f"{start_s:.3f}", "end": f"{end_s:.3f}", "step": f"{step_s:.3f}"}
        try:
            found = self._ask("query_range", query, asked)
        except _TooMuch:
            steps = round((end_s - start_s) / step_s)
            if steps < 1:
                raise
            middle = start_s + (steps // 2) * step_s
            yield from self._part(query, start_s, middle, step_s)
            yield from self._part(query, middle + step_s, end_s, step_s)
            return
        for one in found:
            pairs = [_pair(pair) for pair in one.get("values") or ()]
            yield PrometheusSeries(
                _labels(one), tuple(float(at) for at, _ in pairs), tuple(float(v) for _, v in pairs)
            )

    def _ask(self, what: str, query: str, asked: Mapping[str, str]) -> list[JsonObject]:
        body = urllib.parse.urlencode({"query": query, **asked})
        request = urllib.request.Request(f"{self.url}/api/v1/{what}?{body}")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        for attempt in range(1, self.tries + 1):
            self._take_turn()
            try:
                with self._opener.open(request, timeout=self.timeout_s) as reply:
                    return self._read(reply.read(), query)
            except urllib.error.HTTPError as cause:
                with cause:
                    said = _reason(cause)
                if any(words in said for words in _TOO_MUCH) and cause.code in (413, 422, 503):
                    raise _TooMuch(self._refused(query, said)) from cause
                if cause.code not in _PASSING or attempt == self.tries:
                    raise InputError(self._refused(query, said)) from cause
                self._wait(_after(cause.headers.get("Retry-After"), attempt))
            except (urllib.error.URLError, http.client.HTTPException, OSError) as cause:
                if attempt == self.tries:
                    raise InputError(
                        f"Prometheus at {self.url} does not answer "
                        f"({getattr(cause, 'reason', None) or type(cause).__name__}). Check the "
                        "address and that it runs."
                    ) from cause
                self._wait(_after(None, attempt))
        raise AssertionError("a loop over tries returns or raises")

    def _take_turn(self) -> None:
        """Wait until the next question is due."""
        early = self._next_s - self._now()
        if early > 0:
            self._wait(early)
        self._next_s = max(self._next_s, self._now()) + self._between_s

    def _read(self, content: bytes, query: str) -> list[JsonObject]:
        try:
            found = json.loads(content)
        except ValueError as cause:
            raise InputError(
                f"{self.url}: does not answer as Prometheus does. Check the address."
            ) from cause
        if not isinstance(found, dict) or found.get("status") != "success":
            raise InputError(f"Prometheus at {self.url} did not answer {query!r} with success.")
        data = found.get("data")
        result = data.get("result") if isinstance(data, dict) else None
        if not isinstance(result, list) or not all(isinstance(one, dict) for one in result):
            raise InputError(
                f"Prometheus at {self.url}: the answer to {query!r} is no list of series. Write an "
                "expression that gives series, not a plain number."
            )
        return result

    def _refused(self, query: str, said: str) -> str:
        return f"Prometheus at {self.url} refused {query!r}: {said}."


def _spans(start_s: float, end_s: float, step_s: float) -> Iterator[tuple[float, float]]:
    begin = start_s
    while begin <= end_s:
        end = min(begin + (_MOST_POINTS - 1) * step_s, end_s)
        yield begin, end
        begin = end + step_s


def _labels(series: JsonObject) -> dict[str, str]:
    held = series.get("metric")
    return {str(k): str(v) for k, v in held.items()} if isinstance(held, dict) else {}


def _pair(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError("Prometheus: a sample of the answer is no pair of time and value.")
    return value[0], value[1]


def _reason(cause: urllib.error.HTTPError) -> str:
    if cause.code in (301, 302, 303, 307, 308):
        return f"it sends to another address (HTTP {cause.code}); write that one"
    if cause.code in (401, 403):
        return f"it needs a token (HTTP {cause.code}); put it into {TOKEN}"
    try:
        return str(json.loads(cause.read())["error"]).rstrip(".")
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return f"HTTP {cause.code}"


def _after(retry_after: str | None, attempt: int) -> float:
    """Return how long to wait: what the server says, else twice as long each time."""
    if retry_after is not None and retry_after.strip().isdigit():
        return min(float(retry_after), _LONGEST_WAIT_S)
    return min(0.25 * 2.0 ** (attempt - 1), _LONGEST_WAIT_S)
