"""OpenID Connect: who a provider says is asking, with role and tenants from its claims.

Tokens of the provider are JSON Web Tokens that are verified here by its public keys; nothing is
asked of the provider for a request. Its keys are fetched at the first token and when one is signed
by a key that is not known yet, off the event loop and at most every few seconds.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prophase.errors import ParameterError, ProphaseError, not_among
from prophase.json_types import JsonMapping
from prophase.lazy_imports import optional
from prophase.serve.guard.browser_rules import is_loopback
from prophase.serve.problems import Problem
from prophase.serve.tokens import ROLES, Role, allows

#: signatures by a key pair: with a shared secret, whoever verifies could also sign
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
#: clocks may differ by so much
_LEEWAY_S = 30.0
_TIMEOUT_S = 10.0
#: the keys are not fetched more often than this
_KEYS_EVERY_S = 5.0
_MOST_BYTES = 1 << 20
_MOST_REMEMBERED = 4096
_MOST_NAME = 200


@dataclass(frozen=True)
class OidcSettings:
    """A provider, and what its claims mean here.

    Parameters
    ----------
    issuer : str
        Address of the provider, as it stands in its tokens.
    client_id : str
        Name under which the provider knows this service.
    client_secret : str
        For logging in with a browser, if the provider asks for one.
    audiences : tuple of str
        What tokens must be meant for; the client's name if not given.
    name_claim, role_claim, tenant_claim : str
        Claims with the name, the groups that give roles, and the tenants; a dot goes into a claim
        (``realm_access.roles``). Without a tenant claim nobody is limited to tenants.
    roles : mapping
        Value of the role claim -> role. Who has none of them is refused.
    redirect : str, optional
        Address of this service as browsers see it, if it differs from what they ask for.
    """

    issuer: str
    client_id: str
    roles: Mapping[str, Role]
    client_secret: str = field(default="", repr=False)
    audiences: tuple[str, ...] = ()
    name_claim: str = "sub"
    role_claim: str = "groups"
    tenant_claim: str = ""
    redirect: str | None = None

    @classmethod
    def of(cls, said: JsonMapping, secret: str = "") -> OidcSettings:
        """Read ``[serve.oidc]`` of a workspace's settings.

        Examples
        --------
        >>> OidcSettings.of(
        ...     {
        ...         "issuer": "https://id.example.org/",
        ...         "client_id": "prophase",
        ...         "roles": {"hpc-admins": "admin", "hpc-users": "read"},
        ...     }
        ... ).roles["hpc-users"]
        'read'
        """
        where = "prophase.toml: [serve.oidc]"
        known = ("issuer", "client_id", "audience", "name_claim", "role_claim", "tenant_claim",
                 "roles", "redirect")  # fmt: skip
        for name in said:
            if name == "client_secret":
                raise ParameterError(
                    f"{where} client_secret: a secret does not belong into this file. Set the "
                    "environment variable PROPHASE_OIDC_SECRET."
                )
            if name not in known:
                raise ParameterError(not_among(f"{where} has no setting {name!r}.", name, known))
        for name in ("issuer", "client_id", "roles"):
            if not said.get(name):
                raise ParameterError(f"{where} needs {name}. See the guide on serving.")
        issuer = str(said["issuer"])
        _refuse_unsafe(issuer, f"{where} issuer")
        roles = said["roles"]
        if not isinstance(roles, Mapping):
            raise ParameterError(f'{where} roles: write {{ "group-of-provider" = "read" }}.')
        for group, role in roles.items():
            if role not in ROLES:
                raise ParameterError(
                    not_among(f"{where} roles: {group} has the role {role!r}.", str(role), ROLES)
                )
        audience = said.get("audience", ())
        words = {
            name: str(said[name])
            for name in ("name_claim", "role_claim", "tenant_claim", "redirect")
            if name in said
        }
        return cls(
            issuer,
            str(said["client_id"]),
            dict(roles),
            secret,
            (audience,) if isinstance(audience, str) else tuple(map(str, audience)),
            **words,
        )


@dataclass(frozen=True)
class OidcIdentity:
    """Who a verified token names."""

    name: str
    role: Role | None
    tenants: tuple[str, ...]
    until_s: float
    #: why it may do nothing
    refusal: str = ""


@dataclass(frozen=True)
class LoginAttempt:
    """What a browser keeps between leaving for the provider and coming back."""

    state: str
    nonce: str
    verifier: str
    goal: str

    @classmethod
    def new(cls, goal: str) -> LoginAttempt:
        """Begin a login that ends at a page of ours."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, goal)


class OidcProvider:
    """Verifies tokens of a provider and logs browsers in; safe to use from several threads."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._jwt = optional("jwt", "logging in with OpenID Connect", "oidc")
        optional("cryptography", "logging in with OpenID Connect", "oidc")
        self._lock = threading.Lock()
        self._about: dict[str, Any] = {}
        self._keys: dict[str, Any] = {}
        self._asked_s = float("-inf")
        self._trouble = ""
        self._known: dict[str, OidcIdentity] = {}

    def needs_keys(self, token: str) -> bool:
        """Say whether a token is signed by a key that should be asked for first."""
        if not is_jwt(token) or _digest(token) in self._known:
            return False
        recent = time.monotonic() - self._asked_s < _KEYS_EVERY_S
        return not recent and self._key_of(token) is None

    def fetch_keys(self) -> None:
        """Ask the provider for its keys; trouble is kept and said to who sends a token."""
        with self._lock:
            if time.monotonic() - self._asked_s < _KEYS_EVERY_S:
                return
            self._asked_s = time.monotonic()
            try:
                self._describe()
                told = _get_json(self._about["jwks_uri"])
                self._keys = self._usable(told.get("keys", ()))
                self._trouble = ""
            except (ProphaseError, OSError, ValueError, LookupError, TypeError) as why:
                self._trouble = f"its keys cannot be had ({_short(why).rstrip('.')})"

    def identity(self, token: str, *, nonce: str | None = None) -> OidcIdentity:
        """Return who a token names; one that is not right raises a 401."""
        digest = _digest(token)
        found = self._known.get(digest) if nonce is None else None
        if found is not None and time.time() < found.until_s:
            return found
        claims = self._claims(token)
        if nonce is not None and claims.get("nonce") != nonce:
            raise _unknown("the answer belongs to another login. Begin again.")
        made = self._identity_of(claims)
        if len(self._known) >= _MOST_REMEMBERED:
            self._known = {}
        self._known[digest] = made
        return made

    def leave_for(self, attempt: LoginAttempt, back: str) -> str:
        """Return the provider's address for a login (code with PKCE)."""
        self._describe()
        challenge = hashlib.sha256(attempt.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": back,
            "scope": " ".join(self._scopes()),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        start = self._about["authorization_endpoint"]
        return f"{start}{'&' if '?' in start else '?'}{urllib.parse.urlencode(asked)}"

    def come_back(self, attempt: LoginAttempt, code: str, back: str) -> str:
        """Return the verified ID token for the code that a browser brought back."""
        self._describe()
        said = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": self.settings.client_id,
            "code_verifier": attempt.verifier,
        }
        if self.settings.client_secret:
            said["client_secret"] = self.settings.client_secret
        try:
            answer = _get_json(self._about["token_endpoint"], said)
            token = str(answer["id_token"])
        except urllib.error.HTTPError as cause:
            with cause:
                raise _unknown(f"{self._name} did not accept the login ({cause.code}).") from cause
        except (OSError, ValueError, KeyError) as cause:
            raise Problem(502, f"{self._name} did not answer: {_short(cause)}.") from cause
        if self.needs_keys(token):
            self.fetch_keys()
        self.identity(token, nonce=attempt.nonce)
        return token

    @property
    def _name(self) -> str:
        return f"the provider {urllib.parse.urlsplit(self.settings.issuer).netloc}"

    def _scopes(self) -> list[str]:
        offered = self._about.get("scopes_supported", ())
        further = [one for one in ("profile", "email", "groups", "roles") if one in offered]
        return ["openid", *further]

    def _describe(self) -> None:
        """Read where the provider has what, once."""
        if self._about:
            return
        address = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            about = _get_json(address)
        except (OSError, ValueError) as cause:
            raise Problem(502, f"{self._name} cannot be reached: {_short(cause)}.") from cause
        if about.get("issuer") != self.settings.issuer:
            raise Problem(
                502,
                f"{self._name} calls itself {str(about.get('issuer'))[:200]!r}. Write exactly that "
                "as issuer below [serve.oidc].",
            )
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _refuse_unsafe(str(about.get(name)), f"{self._name}: {name}")
        self._about = about

    def _usable(self, keys: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        made = {}
        for key in keys:
            if key.get("use", "sig") == "sig" and key.get("kty") in ("RSA", "EC", "OKP"):
                made[str(key.get("kid", ""))] = self._jwt.PyJWK.from_dict(
                    {"alg": _usual_algorithm(key), **key}
                )
        return made

    def _key_of(self, token: str) -> Any:
        try:
            header = self._jwt.get_unverified_header(token)
        except self._jwt.PyJWTError:
            return None
        kid = header.get("kid")
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(str(kid))

    def _claims(self, token: str) -> dict[str, Any]:
        key = self._key_of(token)
        if key is None:
            reason = self._trouble or "it is signed by a key that the provider does not publish"
            raise _unknown(f"this token of {self._name} cannot be verified: {reason}.")
        try:
            claims: dict[str, Any] = self._jwt.decode(
                token,
                key,
                algorithms=[one for one in _ALGORITHMS if one == key.algorithm_name],
                audience=list(self.settings.audiences or (self.settings.client_id,)),
                issuer=self.settings.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except self._jwt.ExpiredSignatureError as cause:
            raise _unknown("this login has expired. Log in again.") from cause
        except self._jwt.PyJWTError as cause:
            raise _unknown(f"this token of {self._name} is not right: {cause}.") from cause
        return claims

    def _identity_of(self, claims: Mapping[str, Any]) -> OidcIdentity:
        settings = self.settings
        named = next(iter(values_of(claims, settings.name_claim)), str(claims["sub"]))
        name = f"oidc:{''.join(one for one in named if one.isprintable())[:_MOST_NAME]}"
        until_s = float(claims["exp"]) + _LEEWAY_S
        groups = values_of(claims, settings.role_claim)
        held = [settings.roles[one] for one in groups if one in settings.roles]
        role = max(held, key=ROLES.index, default=None)
        if role is None:
            words = (
                f"{name} has none of the groups that may ask here (claim {settings.role_claim!r}). "
                "Ask who runs the service."
            )
            return OidcIdentity(name, None, (), until_s, words)
        if allows(role, "admin") or not settings.tenant_claim:
            return OidcIdentity(name, role, (), until_s)
        tenants = tuple(dict.fromkeys(values_of(claims, settings.tenant_claim)))
        if not tenants:
            words = f"{name} belongs to no tenant (claim {settings.tenant_claim!r})."
            return OidcIdentity(name, None, (), until_s, words)
        return OidcIdentity(name, role, tenants, until_s)


def values_of(claims: Mapping[str, Any], path: str) -> list[str]:
    """Return what a claim holds as a list of words.

    Examples
    --------
    >>> values_of({"realm_access": {"roles": ["hpc", "nlp"]}}, "realm_access.roles")
    ['hpc', 'nlp']
    >>> values_of({"scope": "read feedback"}, "scope"), values_of({}, "groups")
    (['read', 'feedback'], [])
    """
    # names of claims may be addresses, which have dots of their own
    found: Any = claims.get(path)
    if found is None:
        found = claims
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return found.split()
    return [str(one) for one in found] if isinstance(found, Sequence) else []


def is_jwt(token: str) -> bool:
    """Say whether a token looks like one of a provider; ours begin with ``prophase_``.

    Examples
    --------
    >>> is_jwt("eyJhbGciOiJSUzI1NiJ9.e30.c2ln"), is_jwt("prophase_abc")
    (True, False)
    """
    return token.startswith("ey") and token.count(".") == 2


def _usual_algorithm(key: Mapping[str, Any]) -> str:
    """Return what a key signs with if it does not say so."""
    curves = {"P-256": "ES256", "P-384": "ES384"}
    kinds = {"RSA": "RS256", "OKP": "EdDSA"}
    return kinds.get(str(key["kty"])) or curves.get(str(key.get("crv")), "ES256")


def _get_json(address: str, said: Mapping[str, str] | None = None) -> dict[str, Any]:
    _refuse_unsafe(address, "the provider")
    body = None if said is None else urllib.parse.urlencode(said).encode()
    request = urllib.request.Request(address, body, {"accept": "application/json"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        found = json.loads(answer.read(_MOST_BYTES))
    if not isinstance(found, dict):
        raise ValueError("the answer is no JSON object")
    return found


def _refuse_unsafe(address: str, where: str) -> None:
    parts = urllib.parse.urlsplit(address)
    loopback = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not (parts.scheme == "https" and parts.netloc) and not loopback:
        raise ParameterError(
            f"{where}: {address[:200]!r} is not an https address. Who can change what the provider "
            "says can become anybody."
        )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _short(cause: BaseException) -> str:
    return str(getattr(cause, "reason", cause))[:200]


def _unknown(words: str) -> Problem:
    return Problem(401, words, {"www-authenticate": 'Bearer realm="prophase"'})
