"""Headers that every answer has: nothing inline, nothing from elsewhere, no frames, no caching."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders

#: what a page may load: its own files, and images that are written into it
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
_ALWAYS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def add_headers(headers: MutableHeaders, *, tls: bool) -> None:
    """Add what is missing; a route may have set its own caching or a policy of its own."""
    for name, value in _ALWAYS.items():
        headers.setdefault(name, value)
    if "cache-control" not in headers:
        headers["cache-control"] = "no-store"
    if tls:
        headers["strict-transport-security"] = "max-age=31536000"
