"""JSON that comes in and goes out, within limits and without holding up other requests.

A large body is parsed in a thread. The parser calls Python for every object, so that the event loop
gets its turn in between; ``json.loads`` alone would keep it waiting until the last byte.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from prophase.json_types import JsonMapping, JsonObject

#: smaller bodies are parsed at once: a thread would take longer
_SMALL_BYTES = 16 << 10
#: fewer rows are left to the web framework
_FEW_ROWS = 50
_MOST_FIELDS = 1_000
#: the only way to a lone surrogate in valid UTF-8
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class JsonRoute(APIRoute):
    """A route whose JSON is parsed beside the event loop, with no text longer than a name."""

    #: characters of the longest text in the body; None for no limit but that of the body
    longest_text: int | None = 10_000

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the framework, with a request that parses as we do."""
        inner, longest = super().get_route_handler(), self.longest_text

        async def handle(request: Request) -> Response:
            return await inner(_JsonRequest(request, longest))

        return handle


class DocumentRoute(JsonRoute):
    """A route that takes whole documents: manifests, batch scripts."""

    longest_text = None


class _JsonRequest(Request):
    """A request whose JSON is checked as it is parsed."""

    def __init__(self, request: Request, longest: int | None) -> None:
        super().__init__(request.scope, request.receive, request._send)
        self._longest = longest
        self._parsed: tuple[Any] | None = None

    async def json(self) -> Any:
        """Return what the body says, or raise what the caller is told."""
        if self._parsed is None:
            body = await self.body()
            most = min(
                self.app.state.settings.max_json_bytes, self.app.state.settings.max_body_bytes
            )
            if len(body) > most:
                raise HTTPException(
                    413, f"the JSON is larger than {most:,} bytes. Send it in parts."
                )
            if len(body) > _SMALL_BYTES:
                self._parsed = (await asyncio.to_thread(parse_json, body, self._longest),)
            else:
                self._parsed = (parse_json(body, self._longest),)
        return self._parsed[0]


def parse_json(body: bytes, longest_text: int | None = None) -> Any:
    """Return what JSON says; refuse what no reader further in could hold.

    Examples
    --------
    >>> parse_json(b'{"jobs": [{"user": "ann"}]}')
    {'jobs': [{'user': 'ann'}]}
    >>> parse_json(rb'{"user": "\\ud800"}')
    Traceback (most recent call last):
    starlette.exceptions.HTTPException: 400: user: half a character (a lone surrogate). Send UTF-8.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise HTTPException(400, f"the body is not UTF-8 at byte {cause.start:,}.") from cause
    checks = _Checks(longest_text, surrogates=_SURROGATE.search(body) is not None)
    try:
        value = json.loads(text, object_pairs_hook=checks.object)
    except RecursionError as cause:
        raise HTTPException(400, "the JSON is nested too deeply.") from cause
    except json.JSONDecodeError:
        raise
    except ValueError as cause:
        # a number of thousands of digits
        raise HTTPException(400, f"a number of the JSON is too long: {cause}.") from cause
    checks.value("the body", value)
    return value


class _Checks:
    """What every object, text and list of a body must keep."""

    def __init__(self, longest_text: int | None, *, surrogates: bool) -> None:
        self._longest, self._surrogates = longest_text, surrogates

    def object(self, pairs: list[tuple[str, Any]]) -> JsonObject:
        if len(pairs) > _MOST_FIELDS:
            raise HTTPException(
                422, f"an object has {len(pairs):,} fields; {_MOST_FIELDS:,} are the most."
            )
        for name, value in pairs:
            if type(value) in (str, list):
                self.value(name, value)
            self._text("the name of a field", name)
        return dict(pairs)

    def value(self, name: str, value: Any) -> None:
        if type(value) is str:
            self._text(name, value)
        elif type(value) is list and (self._longest is not None or self._surrogates):
            waiting = [value]
            while waiting:
                for one in waiting.pop():
                    if type(one) is str:
                        self._text(name, one)
                    elif type(one) is list:
                        waiting.append(one)

    def _text(self, name: str, text: str) -> None:
        shown = name[:60].encode("ascii", "replace").decode()
        if self._longest is not None and len(text) > self._longest:
            raise HTTPException(
                422,
                f"{shown}: a text of {len(text):,} characters; {self._longest:,} are the most.",
            )
        if self._surrogates and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise HTTPException(400, f"{shown}: half a character (a lone surrogate). Send UTF-8.")


async def json_answer(name: str, rows: Sequence[JsonMapping], rest: JsonMapping) -> Any:
    """Return an answer whose list ``name`` may be long; long ones are written in a thread."""
    if len(rows) < _FEW_ROWS:
        return {name: rows, **rest}

    def written() -> bytes:
        # row by row: other threads get their turn in between
        texts = ",".join(json.dumps(row, allow_nan=False, default=str) for row in rows)
        beside = json.dumps(rest, allow_nan=False, default=str)[1:]
        middle = "," if rest else ""
        return f"{{{json.dumps(name)}:[{texts}]{middle}{beside}".encode()

    return Response(await asyncio.to_thread(written), media_type="application/json")
