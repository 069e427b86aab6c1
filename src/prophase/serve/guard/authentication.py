"""Who is asking: by the token of the request, or anybody where none is needed."""

from __future__ import annotations

from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address

from starlette.datastructures import Headers

from prophase.serve.guard.oidc import OidcProvider, is_jwt
from prophase.serve.problems import Problem
from prophase.serve.tokens import Role, TokenStore

#: where a browser keeps the token of its user
COOKIE = "prophase_token"


@dataclass(frozen=True)
class AuthenticatedCaller:
    """A caller, and what it may do; no role means that a token is missing or wrong."""

    name: str
    role: Role | None
    #: what to say when something is asked that needs a role
    refusal: Problem | None = None
    #: whether it sent a token at all
    sent: bool = False
    #: namespaces, accounts or teams that it is limited to; none for all
    tenants: tuple[str, ...] = ()

    def may_see(self, tenant: str | None) -> bool:
        """Say whether what belongs to a tenant is its business."""
        return not self.tenants or tenant in self.tenants


def authenticated_caller(
    headers: Headers,
    store: TokenStore,
    address: str = "127.0.0.1",
    oidc: OidcProvider | None = None,
) -> AuthenticatedCaller:
    """Return who asks; a wrong token is not refused here, as some pages need none.

    Parameters
    ----------
    address : str
        Where the request comes from: an open service is open to its own machine alone.
    oidc : OidcProvider, optional
        Whose tokens count beside ours.
    """
    if store.is_open and not _is_elsewhere(address):
        return AuthenticatedCaller("anyone", "admin")
    secret = secret_of(headers)
    if secret is None:
        return AuthenticatedCaller(
            "anyone",
            None,
            _unknown(
                "a token is needed. Send it as 'Authorization: Bearer prophase_...'; make one "
                "with: prophase serve token add NAME"
            ),
        )
    if oidc is not None and is_jwt(secret):
        return _of_provider(oidc, secret)
    token = store.find(secret)
    if token is None:
        unknown = _unknown("this token is unknown: mistyped, or it was revoked.")
        return AuthenticatedCaller("anyone", None, unknown, sent=True)
    if token.expired():
        expired = _unknown(
            f"the token {token.name!r} expired at {token.expires_at}. Make a new one with: "
            "prophase serve token add NAME"
        )
        return AuthenticatedCaller(token.name, None, expired, sent=True)
    return AuthenticatedCaller(token.name, token.role, sent=True, tenants=token.tenants)


def _of_provider(oidc: OidcProvider, token: str) -> AuthenticatedCaller:
    try:
        found = oidc.identity(token)
    except Problem as wrong:
        return AuthenticatedCaller("anyone", None, wrong, sent=True)
    refusal = Problem(403, found.refusal) if found.refusal else None
    return AuthenticatedCaller(found.name, found.role, refusal, sent=True, tenants=found.tenants)


def _is_elsewhere(address: str) -> bool:
    try:
        return not ip_address(address).is_loopback
    except ValueError:
        # a socket of this machine, or a test without any
        return False


def _unknown(words: str) -> Problem:
    return Problem(401, words, {"www-authenticate": 'Bearer realm="prophase"'})


def secret_of(headers: Headers) -> str | None:
    """Return the token that a request brings, in its header or its cookie."""
    said = headers.get("authorization")
    if said is not None:
        kind, _, secret = said.partition(" ")
        return secret.strip() if kind.lower() == "bearer" else ""
    try:
        held = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return held.value if held is not None and held.value else None
