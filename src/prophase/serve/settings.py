"""How a service is set up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prophase import units
from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonMapping
from prophase.serve.guard.oidc import OidcSettings


@dataclass(frozen=True)
class ServiceSettings:
    """Where a service listens, and what it allows.

    Parameters
    ----------
    host, port : str, int
        Address.
    open : bool
        Whether whoever is on this machine may do all while there is no token; loopback only.
    names : tuple of str
        Names beside loopback by which a service on loopback may be opened.
    certificate, key : path, optional
        PEM files for TLS.
    campaign : path, optional
        Folder of a campaign of runs; ``campaign`` in the workspace if not given.
    reload_every_s : float
        How often the workspace is looked at for new tables and models; 0 never.
    max_body_bytes : int
        Larger requests are refused.
    max_json_bytes : int
        Larger JSON is refused, except where samples or recommendations are posted.
    timeout_s : float
        A request that takes longer is given up.
    header_timeout_s : float
        A connection that does not send the headers of a request within this time is closed.
    max_connections : int
        Connections at the same time; beyond, those that ask nothing are closed.
    requests_per_s : float
        Most requests per caller and second over a longer time; 0 for no limit.
    tasks_at_once : int
        How many background tasks compute at the same time; others wait.
    oidc : OidcSettings, optional
        A provider whose users may ask, beside tokens.
    traces : str, optional
        Address of an OpenTelemetry collector that takes traces over HTTP.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    open: bool = False
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    campaign: Path | None = None
    reload_every_s: float = 2.0
    max_body_bytes: int = 16 << 20
    max_json_bytes: int = 4 << 20
    timeout_s: float = 60.0
    header_timeout_s: float = 10.0
    max_connections: int = 1_000
    requests_per_s: float = 500.0
    tasks_at_once: int = 1
    oidc: OidcSettings | None = None
    traces: str | None = None

    @property
    def address(self) -> str:
        """Return what to type into a browser.

        Examples
        --------
        >>> ServiceSettings().address
        'http://127.0.0.1:8765/'
        """
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.certificate else ''}://{name}:{self.port}/"


def campaign_folder(settings: ServiceSettings, workspace: Path) -> Path:
    """Return where the campaign of runs is: the folder named, or the one in the workspace."""
    return settings.campaign or workspace / "campaign"


def further_limits(settings: JsonMapping) -> dict[str, Any]:
    """Return limits of a service that a workspace's ``[serve]`` sets.

    Examples
    --------
    >>> further_limits({"serve": {"header_timeout": "5s", "max_connections": 200}})
    {'header_timeout_s': 5.0, 'max_connections': 200}
    """
    held = settings.get("serve", {})
    if not isinstance(held, Mapping):
        raise ParameterError("prophase.toml: serve is a table. Write [serve], then its limits.")
    found: dict[str, Any] = {}
    for name, value in held.items():
        if name == "header_timeout":
            found["header_timeout_s"] = units.parse_duration(
                str(value), bare="s", where="prophase.toml: header_timeout", positive=True
            )
        elif name == "max_connections":
            found["max_connections"] = _whole(name, value, 1, 1_000_000)
        elif name == "max_json_mib":
            found["max_json_bytes"] = _whole(name, value, 1, 1_024) << 20
        elif name == "traces":
            if not str(value).startswith(("http://", "https://")):
                raise ParameterError(
                    f"prophase.toml: traces is {value!r}, but is the address of a collector, such "
                    "as http://127.0.0.1:4318."
                )
            found["traces"] = str(value)
        elif name == "oidc":
            if not isinstance(value, Mapping):
                raise ParameterError("prophase.toml: oidc is a table. Write [serve.oidc].")
            found["oidc"] = OidcSettings.of(value, os.environ.get("PROPHASE_OIDC_SECRET", ""))
        elif name != "database":
            raise ParameterError(
                not_among(f"prophase.toml: [serve] has no limit {name!r}.", name, _FURTHER)
            )
    return found


#: the address of the database is read where the database is opened
_FURTHER = ("database", "header_timeout", "max_connections", "max_json_mib", "oidc", "traces")


def _whole(name: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ParameterError(
            f"prophase.toml: {name} is {value!r}, but is a whole number from {least} to {most:,}."
        )
    return value
