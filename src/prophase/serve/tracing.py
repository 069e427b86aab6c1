"""Traces for OpenTelemetry: what a request waited for, from admission to answer.

Off unless an address is set, and then it costs nothing: :func:`span` looks at one variable of the
request. Spans hold routes, counts, names of callers and outcomes, never what was sent.
"""

from __future__ import annotations

import logging
import os
import platform
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

from prophase.lazy_imports import optional
from prophase.version import __version__

log = logging.getLogger("prophase.serve")
#: a collector has so long for a batch; requests never wait for it
_TIMEOUT_S = 5.0
_P = ParamSpec("_P")
_T = TypeVar("_T")
#: what OpenTelemetry's own programs read, the more special one first
_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
#: the tracing of the request that is being answered
_NOW: ContextVar[Tracing | None] = ContextVar("tracing", default=None)


def traces_address(set_in_file: str | None = None) -> str | None:
    """Return where spans are sent over HTTP: the setting, else OpenTelemetry's variables.

    Examples
    --------
    >>> traces_address("http://127.0.0.1:4318")
    'http://127.0.0.1:4318/v1/traces'
    """
    special, common = (os.environ.get(name) for name in _VARIABLES)
    if not set_in_file and special:
        return special
    base = set_in_file or common
    if not base:
        return None
    return base if base.endswith("/v1/traces") else f"{base.rstrip('/')}/v1/traces"


class Tracing:
    """Makes spans of one service and sends them, in batches and in a thread of its own.

    Parameters
    ----------
    exporter : SpanExporter, optional
        Where spans go; a collector at ``address`` if not given.
    """

    def __init__(self, address: str = "", exporter: Any = None) -> None:
        what = "sending traces"
        sdk = optional("opentelemetry.sdk.trace", what, "otel")
        export = optional("opentelemetry.sdk.trace.export", what, "otel")
        resources = optional("opentelemetry.sdk.resources", what, "otel")
        self._api = optional("opentelemetry.trace", what, "otel")
        spread = optional("opentelemetry.trace.propagation.tracecontext", what, "otel")
        about = {
            "service.name": os.environ.get("OTEL_SERVICE_NAME", "prophase"),
            "service.version": __version__,
            "service.instance.id": platform.node(),
        }
        # one of its own: a program that embeds the service keeps its settings
        self._provider = sdk.TracerProvider(resource=resources.Resource.create(about))
        sender = exporter or OtlpExporter(address)
        self._provider.add_span_processor(export.BatchSpanProcessor(sender))
        self._tracer = self._provider.get_tracer("prophase", __version__)
        self._context_of = spread.TraceContextTextMapPropagator().extract

    @contextmanager
    def request(self, headers: dict[str, str]) -> Iterator[Any]:
        """Hold the span of a request; it continues the trace of the caller (``traceparent``)."""
        token = _NOW.set(self)
        try:
            with self._tracer.start_as_current_span(
                "request",
                context=self._context_of(headers),
                kind=self._api.SpanKind.SERVER,
                record_exception=False,
            ) as made:
                yield made
        finally:
            _NOW.reset(token)

    @contextmanager
    def inner(self, name: str, attributes: dict[str, Any]) -> Iterator[Any]:
        """Hold a span inside the present one."""
        with self._tracer.start_as_current_span(name, attributes=attributes) as made:
            yield made

    def past(self, name: str, began_ns: int, ended_ns: int, attributes: dict[str, Any]) -> None:
        """Note what has been done already, inside the present span."""
        made = self._tracer.start_span(name, start_time=began_ns, attributes=attributes)
        made.end(ended_ns)

    def answered(self, span: Any, method: str, route: str, status: int, caller: str) -> None:
        """Say in the span of a request what it was and how it ended."""
        span.update_name(f"{method} {route}")
        span.set_attributes(
            {
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
                "prophase.caller": caller,
            }
        )
        if status >= 500:
            span.set_status(self._api.StatusCode.ERROR)

    def flush(self) -> None:
        """Send what waits."""
        self._provider.force_flush()

    def close(self) -> None:
        """Send what waits, then stop."""
        self._provider.shutdown()


class OtlpExporter:
    """Sends spans to a collector over HTTP (OTLP, protobuf); what cannot be sent is dropped.

    OpenTelemetry's own exporter brings an HTTP library with it; its encoder is used here.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        what = "sending traces"
        encoder = optional("opentelemetry.exporter.otlp.proto.common.trace_encoder", what, "otel")
        self._encode = encoder.encode_spans
        self._results = optional("opentelemetry.sdk.trace.export", what, "otel").SpanExportResult
        self._away = False

    def export(self, spans: Any) -> Any:
        """Send a batch; called in the thread of the batches."""
        body = self._encode(spans).SerializeToString()
        headers = {"content-type": "application/x-protobuf"}
        try:
            request = urllib.request.Request(self.address, body, headers)
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                self._away = False
                return self._results.SUCCESS
        except (OSError, ValueError) as error:
            if not self._away:
                log.warning("traces cannot be sent to %s: %s", self.address, error)
            self._away = True
            return self._results.FAILURE

    def shutdown(self) -> None:
        """Stop: nothing is kept between batches."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Say that nothing waits here."""
        return True


@contextmanager
def span(name: str, **attributes: Any) -> Iterator[Any]:
    """Hold a span of the request that is being answered; nothing where nobody traces.

    Examples
    --------
    >>> with span("model", jobs=1) as made:
    ...     print(made)
    None
    """
    tracing = _NOW.get()
    if tracing is None:
        yield None
        return
    with tracing.inner(name, attributes) as made:
        yield made


def carried(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that belongs to this request in whichever thread it runs."""
    if _NOW.get() is None:
        return function
    context = copy_context()
    return lambda *args, **kwargs: context.run(function, *args, **kwargs)


def later(name: str) -> Callable[..., None]:
    """Return what notes a span of this request when it is over, in another thread.

    It is called with when it began, in ns since 1970, and with attributes.
    """
    tracing = _NOW.get()
    if tracing is None:
        return _nothing
    context = copy_context()

    def note(began_ns: int, **attributes: Any) -> None:
        context.run(tracing.past, name, began_ns, time.time_ns(), attributes)

    return note


def _nothing(began_ns: int, **attributes: Any) -> None:
    """Note nothing: nobody traces."""
