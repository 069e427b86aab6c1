"""Logging in: a browser keeps the token of its user in a cookie that no script can read."""

from __future__ import annotations

from html import escape
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from prophase.serve import pages
from prophase.serve.forms import form_of
from prophase.serve.guard.authentication import COOKIE
from prophase.serve.tokens import TokenStore

router = APIRouter(include_in_schema=False)


@router.get("/login")
def login_form(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> Response:
    """Ask for a token."""
    return login_page(request, local_path(next), "")


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Take a token and keep it in a cookie."""
    said = await form_of(request)
    store: TokenStore = request.app.state.tokens
    token = store.find(said.get("token", "").strip())
    goal = local_path(said.get("next", "/"))
    if token is None or token.expired():
        words = "This token is unknown." if token is None else "This token has expired."
        return login_page(request, goal, words, status=401)
    answer = RedirectResponse(goal, 303)
    answer.set_cookie(
        COOKIE,
        said["token"].strip(),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        max_age=30 * 24 * 3600,
    )
    return answer


@router.post("/logout")
async def log_out() -> Response:
    """Forget the token."""
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def local_path(asked: str) -> str:
    """Return a path of this service, never an address elsewhere.

    Examples
    --------
    >>> [local_path(one) for one in ("/runs", "//evil.org", "https://evil.org", "/\\\\evil.org")]
    ['/runs', '/', '/', '/']
    """
    parts = urlsplit(asked)
    inside = asked.startswith("/") and not parts.scheme and not parts.netloc
    return asked if inside and asked.isprintable() and "\\" not in asked else "/"


def login_page(request: Request, goal: str, words: str, *, status: int = 200) -> Response:
    """Return the page that asks for a token; the dashboard may bring its own."""
    own = getattr(pages, "login_page", None)
    if own is not None:
        found: Response = own(request, goal, words, status=status)
        return found
    return _bare(
        "Log in",
        f"<p role='alert'>{escape(words)}</p><form method='post' action='/login'>"
        f"<input type='hidden' name='next' value='{escape(goal)}'>"
        "<label>Token <input name='token' type='password' autocomplete='current-password' "
        "required autofocus></label> <button>Log in</button></form>",
        status,
    )


def problem_page(request: Request, status: int, words: str) -> Response:
    """Return the page of a problem; the dashboard may bring its own."""
    own = getattr(pages, "problem_page", None)
    if own is not None:
        found: Response = own(request, status, words)
        return found
    return _bare(HTTPStatus(status).phrase, f"<p>{escape(words)}</p>", status)


def _bare(title: str, body: str, status: int) -> HTMLResponse:
    head = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
    return HTMLResponse(f"{head}<h1>{title}</h1>{body}</html>", status)
