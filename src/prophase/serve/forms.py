"""Fields and addresses that a browser sent."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

from prophase.serve.problems import Problem

#: a form with more fields than this is no form of ours
_MOST_FIELDS = 200


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a posted form; of a name that comes twice, the last."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, f"a form is application/x-www-form-urlencoded, not {kind or 'nothing'}.")
    try:
        pairs = parse_qsl(
            (await request.body()).decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError as cause:
        raise Problem(400, f"the form cannot be read: {cause}.") from cause
    return dict(pairs)


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
