"""Logging in with OpenID Connect: a real provider on loopback, roles and tenants of its claims."""

from __future__ import annotations

import hmac
import json
import os
import re
import socket
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import Serve

from prophase.errors import ParameterError
from prophase.serve.app import create_app
from prophase.serve.audit import AuditLog
from prophase.serve.guard.oidc import OidcProvider, OidcSettings
from prophase.serve.problems import Problem
from prophase.serve.settings import ServiceSettings, further_limits
from prophase.serve.tokens import TokenStore

jwt = pytest.importorskip("jwt")

_ROLES = {"hpc-admins": "admin", "hpc-users": "read", "hpc-agents": "feedback"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """A provider in a process of its own, with users in groups."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import oidc_provider_mock"], check=False
    )
    if found.returncode:
        pytest.skip("oidc-provider-mock is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://localhost:{port}"
    try:
        for _ in range(300):
            try:
                httpx.get(f"{address}/jwks")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        people = {
            "ann": {"groups": ["hpc-users", "nlp"], "tenants": ["nlp"]},
            "root": {"groups": ["hpc-users", "hpc-admins"]},
            "eve": {"groups": ["students"]},
            "bob": {"groups": ["hpc-users"]},
        }
        for name, claims in people.items():
            httpx.put(f"{address}/users/{name}", json=claims).raise_for_status()
        yield address
    finally:
        begun.kill()
        begun.wait()


def settings_of(issuer: str, **other: object) -> OidcSettings:
    said = {"issuer": issuer, "client_id": "prophase", "roles": _ROLES} | other
    return OidcSettings.of(said, "secret")


@pytest.fixture(scope="module")
def id_token(issuer: str) -> Callable[[str], str]:
    """Log in at the provider as a browser does, without our service."""

    def log_in(user: str, client: str = "prophase") -> str:
        back = "http://localhost/back"
        asked = {"response_type": "code", "client_id": client, "redirect_uri": back,
                 "scope": "openid", "state": "s"}  # fmt: skip
        answer = httpx.post(f"{issuer}/oauth2/authorize", params=asked, data={"sub": user})
        code = parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]
        said = {"grant_type": "authorization_code", "code": code, "redirect_uri": back,
                "client_id": client, "client_secret": "secret"}  # fmt: skip
        token: str = httpx.post(f"{issuer}/oauth2/token", data=said).json()["id_token"]
        return token

    return log_in


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_groups_of_the_provider_give_roles_beside_tokens(
    serve: Serve, workspace: Path, issuer: str, id_token: Callable[[str], str]
) -> None:
    ours = TokenStore(workspace).add("ci", "read")
    client = serve(open=False, oidc=settings_of(issuer))
    assert client.get("/v1/workspace", headers=bearer(ours)).status_code == 200
    assert client.get("/v1/workspace", headers=bearer(id_token("bob"))).status_code == 200
    assert client.post("/v1/reload", headers=bearer(id_token("bob"))).status_code == 403
    assert client.post("/v1/reload", headers=bearer(id_token("root"))).status_code == 200
    assert client.get("/v1/workspace").status_code == 401
    entries = [(one.who, one.role) for one in AuditLog(workspace).entries()]
    assert ("oidc:root", "admin") in entries
    refused = client.get("/v1/workspace", headers=bearer(id_token("eve")))
    assert refused.status_code == 403
    assert "none of the groups" in refused.json()["detail"]


def test_a_claim_limits_to_tenants_and_who_has_none_is_refused(
    serve: Serve, issuer: str, id_token: Callable[[str], str]
) -> None:
    client = serve(open=False, oidc=settings_of(issuer, tenant_claim="tenants"))
    job = {"gpus": 1, "memory": "1Gi"}
    for group, status in (("nlp", 200), ("vision", 403)):
        asked = {"jobs": [job | {"group": group}], "targets": ["duration_s"]}
        answer = client.post("/v1/predict", json=asked, headers=bearer(id_token("ann")))
        assert answer.status_code == status, answer.text
    assert "no tenant" in client.get("/v1/workspace", headers=bearer(id_token("bob"))).text
    assert client.get("/v1/workspace", headers=bearer(id_token("root"))).status_code == 200


def test_a_token_that_is_forged_or_meant_for_others_lets_nobody_in(
    serve: Serve, issuer: str, id_token: Callable[..., str]
) -> None:
    client = serve(open=False, oidc=settings_of(issuer))
    good = id_token("root")
    header, body, signature = good.split(".")
    claims = jwt.decode(good, options={"verify_signature": False})
    named = {"kid": kid} if (kid := jwt.get_unverified_header(good).get("kid")) else None
    keys = httpx.get(f"{issuer}/jwks").content
    from cryptography.hazmat.primitives.asymmetric import rsa

    other_key = rsa.generate_private_key(65537, 2048)
    unsigned, shared = (_text(json.dumps({"alg": one}).encode()) for one in ("none", "HS256"))
    seen = f"{shared}.{body}".encode()
    forged = {
        "no signature": f"{unsigned}.{body}.",
        "changed body": f"{header}.{body[:-4]}AAAA.{signature}",
        "other key": jwt.encode(claims, other_key, "RS256", headers=named),
        "unknown key": jwt.encode(claims, other_key, "RS256", headers={"kid": "strange"}),
        # the public key as if it were a secret that both sides share
        "shared secret": f"{shared}.{body}.{_text(hmac.digest(keys, seen, 'sha256'))}",
        "other audience": id_token("root", "another-service"),
        "no token": "eyJ.eyJ.x",
    }
    for how, token in forged.items():
        answer = client.get("/v1/workspace", headers=bearer(token))
        assert answer.status_code == 401, how
        assert answer.headers["www-authenticate"].startswith("Bearer"), how
    assert client.get("/v1/workspace", headers=bearer(good)).status_code == 200


def test_a_login_that_has_expired_or_has_another_issuer_is_refused(issuer: str) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048)
    provider = OidcProvider(settings_of(issuer))
    public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    provider._keys = {"1": jwt.PyJWK.from_dict({**public, "alg": "RS256"})}
    now = int(time.time())
    right = {"iss": issuer, "aud": "prophase", "sub": "root", "exp": now + 60,
             "groups": ["hpc-admins"]}  # fmt: skip

    def signed(**other: object) -> str:
        token: str = jwt.encode(right | other, key, "RS256", headers={"kid": "1"})
        return token

    assert provider.identity(signed()).role == "admin"
    for wrong in ({"exp": now - 60}, {"iss": "https://evil.org"}, {"aud": "other"}, {"exp": None}):
        with pytest.raises(Problem):
            provider.identity(signed(**wrong))


def test_a_browser_logs_in_at_the_provider_and_comes_back(serve: Serve, issuer: str) -> None:
    client = serve(open=False, oidc=settings_of(issuer))
    page = client.get("/login?next=/runs")
    assert "Sign in with localhost" in page.text
    away = client.get("/login/oidc?next=/runs", follow_redirects=False)
    assert away.status_code == 303
    answer = httpx.post(away.headers["location"], data={"sub": "bob"})
    back = urlsplit(answer.headers["location"])
    arrived = client.get(f"{back.path}?{back.query}", follow_redirects=False)
    assert arrived.status_code == 200
    assert "url=/runs" in arrived.text
    cookie = next(one for one in arrived.headers.get_list("set-cookie") if "prophase_token" in one)
    assert re.search("httponly", cookie, re.I)
    assert re.search("samesite=strict", cookie, re.I)
    assert client.get("/runs").status_code == 200
    # the same answer again belongs to no login any more
    assert client.get(f"{back.path}?{back.query}").status_code == 401


def test_an_answer_for_another_browser_is_refused(serve: Serve, issuer: str) -> None:
    client = serve(open=False, oidc=settings_of(issuer))
    client.get("/login/oidc", follow_redirects=False)
    answer = client.get("/login/oidc/back?state=guessed&code=1")
    assert answer.status_code == 401
    assert "begun elsewhere" in answer.text
    assert "prophase_token" not in answer.headers.get("set-cookie", "")


def test_a_provider_that_is_away_is_reported(serve: Serve, id_token: Callable[[str], str]) -> None:
    client = serve(open=False, oidc=settings_of("http://localhost:9"))
    answer = client.get("/v1/workspace", headers=bearer(id_token("ann")))
    assert answer.status_code == 401
    assert "cannot be" in answer.json()["detail"]
    assert client.get("/login/oidc", follow_redirects=False).status_code == 502


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"issuer": "http://id.example.org"}, "not an https address"),
        ({"roles": {"hpc": "root"}}, "the role 'root'"),
        ({"client_secret": "x"}, "PROPHASE_OIDC_SECRET"),
        ({"isuer": "x"}, "has no setting 'isuer'"),
        ({"roles": {}}, "needs roles"),
    ],
)
def test_settings_that_are_wrong_say_so(said: dict[str, object], words: str) -> None:
    right = {"issuer": "https://id.example.org", "client_id": "p", "roles": _ROLES}
    with pytest.raises(ParameterError, match=words):
        further_limits({"serve": {"oidc": right | said}})


def test_an_open_service_has_no_provider(workspace: Path) -> None:
    oidc = settings_of("https://id.example.org")
    with pytest.raises(ParameterError, match="asks nobody"):
        create_app(workspace, ServiceSettings(open=True, oidc=oidc))


def test_a_service_without_provider_says_so(client: TestClient) -> None:
    assert client.get("/login/oidc").status_code == 404
    assert os.environ.get("PROPHASE_OIDC_SECRET") is None
