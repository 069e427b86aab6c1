"""Airflow's REST API, version 2, as far as it is needed. Standard library only."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from prophase.errors import ExecutorError, ParameterError
from prophase.json_types import JsonObject

_UNAUTHORIZED = 401
_TIMEOUT_S = 30.0
#: the server is asked for lists in pages
_PAGE = 100


class AirflowApiError(ExecutorError):
    """The server refused; ``status`` is its HTTP status, 0 if it did not answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class AirflowApi:
    """A client with a token.

    Parameters
    ----------
    url : str
        Address of the API server, such as ``http://airflow:8080``.
    user, password : str, optional
        With which a token is asked for, and asked for again when it has expired.
    """

    def __init__(
        self,
        url: str,
        *,
        user: str | None = None,
        password: str | None = None,
        token: str | None = None,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ParameterError(
                f"{url!r} is no address of an Airflow API server; write http://HOST:8080."
            )
        if token is None and (user is None or password is None):
            raise ParameterError(
                "Airflow asks who we are: set PROPHASE_AIRFLOW_USER and PROPHASE_AIRFLOW_PASSWORD, "
                "or PROPHASE_AIRFLOW_TOKEN."
            )
        self.url = url.rstrip("/")
        self._user, self._password = user, password
        self._token = token

    @classmethod
    def of_environment(cls) -> AirflowApi:
        """Return the client that ``PROPHASE_AIRFLOW_*`` describes."""
        url = os.environ.get("PROPHASE_AIRFLOW_URL")
        if not url:
            raise ParameterError(
                "Which Airflow? Set PROPHASE_AIRFLOW_URL to the address of its API server, "
                "such as http://airflow:8080."
            )
        return cls(
            url,
            user=os.environ.get("PROPHASE_AIRFLOW_USER"),
            password=os.environ.get("PROPHASE_AIRFLOW_PASSWORD"),
            token=os.environ.get("PROPHASE_AIRFLOW_TOKEN"),
        )

    def get(self, *path: str, **query: Any) -> JsonObject:
        """Return one object."""
        return self._ask("GET", path, query=query)

    def all_of(self, key: str, *path: str, **query: Any) -> list[JsonObject]:
        """Return all entries of a list, page by page."""
        found: list[JsonObject] = []
        while True:
            page = self.get(*path, limit=_PAGE, offset=len(found), **query)[key]
            found += page
            if len(page) < _PAGE:
                return found

    def post(self, *path: str, body: JsonObject) -> JsonObject:
        """Create something, or have something done."""
        return self._ask("POST", path, body=body)

    def patch(self, *path: str, body: JsonObject, **query: Any) -> JsonObject:
        """Change something."""
        return self._ask("PATCH", path, body=body, query=query)

    def set_variable(self, key: str, value: str, description: str) -> None:
        """Make an Airflow Variable have a value."""
        body = {"key": key, "value": value, "description": description}
        try:
            self.patch("variables", key, body=body)
        except AirflowApiError as refused:
            if refused.status != 404:
                raise
            self.post("variables", body=body)

    def _ask(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        body: JsonObject | None = None,
        query: JsonObject | None = None,
    ) -> JsonObject:
        address = "/".join([self.url, "api/v2", *(quote(part, safe="~") for part in path)])
        if query:
            address += f"?{urlencode(query, doseq=True)}"
        if self._token is None:
            self._token = self._new_token()
        try:
            return self._send(method, address, body, self._token)
        except AirflowApiError as refused:
            if refused.status != _UNAUTHORIZED or self._user is None:
                raise
        # a token lives for a day; ours may be older
        self._token = self._new_token()
        return self._send(method, address, body, self._token)

    def _new_token(self) -> str:
        who = {"username": self._user, "password": self._password}
        return str(self._send("POST", f"{self.url}/auth/token", who, None)["access_token"])

    def _send(
        self, method: str, address: str, body: Mapping[str, object] | None, token: str | None
    ) -> dict[str, object]:
        headers = {"Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                text = answer.read()
        except urllib.error.HTTPError as cause:
            with cause:
                said = _detail(cause.read()) or cause.reason
            raise AirflowApiError(f"Airflow says {cause.code}: {said}", cause.code) from cause
        except (urllib.error.URLError, OSError) as cause:
            why = getattr(cause, "reason", cause)
            raise AirflowApiError(f"Airflow at {self.url} does not answer: {why}", 0) from cause
        found = json.loads(text) if text else {}
        return found if isinstance(found, dict) else {"list": found}


def _detail(body: bytes) -> str:
    """Return the server's own words."""
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, KeyError, TypeError):
        return ""
    return detail if isinstance(detail, str) else json.dumps(detail)
