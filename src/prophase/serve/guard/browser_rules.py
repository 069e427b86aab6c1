"""Rules against other web sites that use a user's browser, and the headers of every answer."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from prophase.serve.problems import Problem

_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Say whether an address is reached from this machine alone.

    Examples
    --------
    >>> (
    ...     is_loopback("127.0.0.1"),
    ...     is_loopback("::1"),
    ...     is_loopback("localhost"),
    ...     is_loopback("0.0.0.0"),
    ... )
    (True, True, True, False)
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def refuse_other_names(headers: Headers, allowed: tuple[str, ...]) -> None:
    """Refuse a name that somebody else's DNS may have pointed at this machine (rebinding).

    A name without a dot cannot be had by a stranger, nor can a loopback address.
    """
    name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    if "." in name.rstrip(".") and not is_loopback(name) and name not in allowed:
        raise Problem(
            421,
            f"this service is not called {name[:100]!r}. Open it by the address that prophase "
            "serve printed, or start it with --name to allow another.",
        )


def refuse_other_sites(method: str, headers: Headers) -> None:
    """Refuse a change that a page of another site makes a browser send."""
    if method in _SAFE:
        return
    site = headers.get("sec-fetch-site", "none")
    origin = headers.get("origin")
    ours = origin is None or _authority(origin) == headers.get("host", "").lower()
    if site not in ("same-origin", "none") or not ours:
        raise Problem(403, "this request comes from a page of another site. Send it from our own.")


def _authority(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


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
