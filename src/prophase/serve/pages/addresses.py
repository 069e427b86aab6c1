"""Addresses that come from a request and lead to a page of ours."""

from __future__ import annotations

from urllib.parse import urlsplit


def local_path(asked: str) -> str:
    """Return a path of this service, never an address elsewhere.

    Examples
    --------
    >>> [local_path(one) for one in ("/runs?a=1", "//evil.org", "https://evil.org", "javascript:x")]
    ['/runs?a=1', '/', '/', '/']
    """
    parts = urlsplit(asked)
    inside = asked.startswith("/") and not parts.scheme and not parts.netloc
    return asked if inside and asked.isprintable() and "\\" not in asked else "/"
