"""Logging in: a browser keeps the token of its user in a cookie that no script can read."""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict
from html import escape
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from prophase.serve.forms import form_of, local_path
from prophase.serve.guard.authentication import COOKIE
from prophase.serve.guard.oidc import LoginAttempt, OidcProvider
from prophase.serve.pages.templates import login_page
from prophase.serve.problems import Problem
from prophase.serve.tokens import TokenStore

router = APIRouter(include_in_schema=False)
#: what a browser keeps while it is at the provider; it comes back from another site
_ATTEMPT, _ATTEMPT_S = "prophase_login", 600
#: browsers drop cookies that are larger
_MOST_COOKIE = 3900


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


@router.get("/login/oidc")
def leave(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> Response:
    """Send a browser to the provider."""
    oidc = _provider(request)
    attempt = LoginAttempt.new(local_path(next))
    answer = RedirectResponse(oidc.leave_for(attempt, _back(request, oidc)), 303)
    answer.set_cookie(
        _ATTEMPT,
        urlencode(asdict(attempt)),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
        max_age=_ATTEMPT_S,
        path="/login",
    )
    return answer


@router.get("/login/oidc/back")
def come_back(
    request: Request,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
    error: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Take what the provider says about who logs in, and keep it in a cookie."""
    oidc = _provider(request)
    held = dict(parse_qsl(request.cookies.get(_ATTEMPT, "")))
    if set(held) != {"state", "nonce", "verifier", "goal"}:
        return login_page(request, "/", "This login took too long. Begin again.", status=401)
    attempt = LoginAttempt(**held)
    goal = local_path(attempt.goal)
    if error or not secrets.compare_digest(state.encode(), attempt.state.encode()):
        words = f"The provider says: {error}." if error else "This login was begun elsewhere."
        return login_page(request, goal, f"{words} Begin again.", status=401)
    try:
        token = oidc.come_back(attempt, code, _back(request, oidc))
        found = oidc.identity(token)
    except Problem as refusal:
        return login_page(request, goal, _capital(str(refusal)), status=refusal.status)
    if found.refusal or len(token) > _MOST_COOKIE:
        words = found.refusal or (
            "The provider says more than a browser keeps (4 KB). Let it leave out claims."
        )
        return login_page(request, goal, _capital(words), status=403)
    # a page, not a redirect: a browser sends no strict cookie on a way that began elsewhere
    away = f"<meta http-equiv='refresh' content='0;url={escape(goal)}'>"
    head = "<!doctype html><html lang='en'><meta charset='utf-8'><title>Welcome</title>"
    answer = HTMLResponse(f"{head}{away}<p><a href='{escape(goal)}'>Go on</a></p></html>")
    answer.set_cookie(
        COOKIE,
        token,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        max_age=max(1, int(found.until_s - time.time())),
    )
    answer.delete_cookie(_ATTEMPT, path="/login", httponly=True, samesite="lax")
    return answer


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _provider(request: Request) -> OidcProvider:
    oidc: OidcProvider | None = request.app.state.oidc
    if oidc is None:
        raise Problem(404, "this service knows no provider. Log in with a token.")
    return oidc


def _back(request: Request, oidc: OidcProvider) -> str:
    """Return the address to which the provider sends browsers back."""
    base = oidc.settings.redirect or str(request.base_url)
    return f"{base.rstrip('/')}/login/oidc/back"


@router.post("/logout")
async def log_out() -> Response:
    """Forget the token."""
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer
