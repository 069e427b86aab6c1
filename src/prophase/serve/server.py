"""The HTTP server around the application: idle connections end, certificates are read again."""

from __future__ import annotations

import asyncio
import logging
import resource
import ssl
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from prophase.serve.settings import ServiceSettings

log = logging.getLogger("prophase.serve")
#: seconds that a connection may stay without a request after an answer
KEEP_ALIVE_S = 30
#: bytes of the headers of one request
_MOST_HEAD = 64 << 10
#: files that the process needs beside its connections
_OTHER_FILES = 128
_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class BoundedConnection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection that has to send its headers in time, or makes room for others."""

    head_s = 10.0
    most = 1_000

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ends_at = self.loop.time() + self.head_s
        self._head = 0

    @property
    def is_busy(self) -> bool:
        """Say whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection; one that asks nothing makes room if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            idle = (one for one in self.connections if not one.is_busy and one is not self)
            longest = min(idle, key=lambda one: one.ends_at, default=self)
            longest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes; headers that do not end are given up."""
        if not self.is_busy:
            if not self._head:
                self.ends_at = min(self.ends_at, self.loop.time() + self.head_s)
            self._head += len(data)
        super().data_received(data)
        if self.is_busy:
            self._head = 0
        elif self._head > _MOST_HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._head = 0
        self.ends_at = self.loop.time() + KEEP_ALIVE_S
        super().on_response_complete()


class Server(uvicorn.Server):
    """Looks after connections and the certificate once a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._certificate = _Certificate(config)

    async def on_tick(self, counter: int) -> bool:
        """Close what is late, and read a certificate that has changed."""
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for one in list(self.server_state.connections):
                late = isinstance(one, BoundedConnection) and not one.is_busy and now > one.ends_at
                if late:
                    one.transport.abort()
            self._certificate.look()
        return await super().on_tick(counter)


class _Certificate:
    """Reads certificate and key again when their files have changed."""

    def __init__(self, config: uvicorn.Config) -> None:
        self._config = config
        self._stamps = self._now()

    def look(self) -> None:
        """Take a new certificate for the connections that come from now on."""
        config = self._config
        if (
            config.ssl is None
            or config.ssl_certfile is None
            or (now := self._now()) == self._stamps
        ):
            return
        self._stamps = now
        try:
            # both files are written one after the other: what does not fit is tried apart first
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
                config.ssl_certfile, config.ssl_keyfile
            )
            config.ssl.load_cert_chain(config.ssl_certfile, config.ssl_keyfile)
        except (OSError, ssl.SSLError) as error:
            log.warning("the new certificate is not used, the one before still is: %s", error)
            # looked at again: the key may come a moment after the certificate
            self._stamps = None
            return
        log.warning("the certificate was read again")

    def _now(self) -> tuple[tuple[int, int, int] | None, ...] | None:
        files = (self._config.ssl_certfile, self._config.ssl_keyfile)
        return tuple(None if one is None else _stamp(Path(one)) for one in files)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def bounded(settings: ServiceSettings) -> type[BoundedConnection]:
    """Return connections within the limits of a service, as many as files may be open.

    The process is let open as many files as its connections need, if it may.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + _OTHER_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = max(min(settings.max_connections, soft - _OTHER_FILES), 1)
    return type(
        "Connection", (BoundedConnection,), {"head_s": settings.header_timeout_s, "most": most}
    )
