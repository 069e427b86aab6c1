"""A view of objects that the API server keeps up to date: one list, then a stream of changes.

The stream goes on where the last one ended (``resourceVersion``; bookmarks carry it on while
nothing happens). When the server no longer has the changes since then (410 Gone), the view
starts over from a list.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from prophase.json_types import JsonObject

_log = logging.getLogger(__name__)
_GONE, _FORBIDDEN = 410, 403
#: the server ends a stream after this time, and the next one goes on
_STREAM_S = 240
#: a stream that stays silent for longer than it should live is dead
_READ_TIMEOUT_S = _STREAM_S + 30
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 30.0


class WatchError(Exception):
    """The server ended a stream with an error; ``code`` is its status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class WatchedObjects:
    """Objects of one kind under one selector.

    Parameters
    ----------
    ask : function
        Method of the official client that lists such objects, such as
        ``CoreV1Api.list_namespaced_pod`` with its namespace.
    """

    def __init__(self, ask: Callable[..., Any], selector: str) -> None:
        self._ask, self._selector = ask, selector
        self._objects: dict[str, JsonObject] = {}
        self._version: str | None = None
        self._current = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._stream: Any = None
        self.lists = 0
        self._thread = threading.Thread(target=self._follow, daemon=True, name="prophase-watch")
        self._thread.start()

    def objects(self) -> list[JsonObject] | None:
        """Return what there is; None while the view is not up to date."""
        with self._lock:
            return list(self._objects.values()) if self._current else None

    def close(self) -> None:
        """Stop watching."""
        self._over.set()
        stream = self._stream
        if stream is not None:
            # it may be ending by itself right now
            with suppress(OSError, ValueError, RuntimeError):
                stream.shutdown()
        self._thread.join(timeout=5)

    def _follow(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._over.is_set():
            try:
                if self._version is None:
                    self._list()
                self._read()
                pause_s = _FIRST_PAUSE_S
                continue
            except WatchError as cause:
                if cause.code == _GONE:
                    _log.info("watch of %s: too old (410), listing again", self._selector)
                # whatever the server says against our place in the stream: start over
                self._version = None
            except Exception as broken:
                if self._over.is_set():
                    return
                code = getattr(broken, "status", None)
                if code == _GONE:
                    self._version = None
                if code == _FORBIDDEN:
                    _log.warning("may not watch %s; every check lists it", self._selector)
                    return
                _log.info("watch of %s: %s; again in %.1f s", self._selector, broken, pause_s)
            finally:
                with self._lock:
                    self._current = False
            self._over.wait(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _list(self) -> None:
        with self._ask(label_selector=self._selector, _preload_content=False) as answer:
            found = json.loads(answer.data)
        self.lists += 1
        with self._lock:
            self._objects = {one["metadata"]["name"]: one for one in found["items"]}
        self._version = found["metadata"]["resourceVersion"]

    def _read(self) -> None:
        """Take over the changes of one stream, until the server ends it."""
        stream = self._ask(
            label_selector=self._selector,
            watch=True,
            resource_version=self._version,
            allow_watch_bookmarks=True,
            timeout_seconds=_STREAM_S,
            _request_timeout=(10, _READ_TIMEOUT_S),
            _preload_content=False,
        )
        self._stream = stream
        with self._lock:
            self._current = True
        try:
            for line in _lines(stream):
                self._take(json.loads(line))
                if self._over.is_set():
                    return
        finally:
            self._stream = None
            stream.close()
            stream.release_conn()

    def _take(self, event: JsonObject) -> None:
        kind, one = event["type"], event["object"]
        if kind == "ERROR":
            raise WatchError(int(one.get("code", 0)), str(one.get("message", "")))
        with self._lock:
            if kind in ("ADDED", "MODIFIED"):
                self._objects[one["metadata"]["name"]] = one
            elif kind == "DELETED":
                self._objects.pop(one["metadata"]["name"], None)
            # a bookmark brings nothing but the version
            self._version = one["metadata"]["resourceVersion"]


def _lines(stream: Any) -> Iterator[bytes]:
    """Yield whole lines of an answer, each as soon as it has come."""
    begun = b""
    for part in stream.stream(amt=None, decode_content=True):
        *whole, begun = (begun + part).split(b"\n")
        yield from (line for line in whole if line.strip())
