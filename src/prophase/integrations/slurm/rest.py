"""slurmrestd over HTTP with a JWT: plain questions, and refusals in our words."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field

from prophase.errors import FetchError
from prophase.json_types import JsonObject

#: oldest release of its data that is understood
_OLDEST = 38
_NEW_TOKEN = "Make a new one: scontrol token lifespan=3600 username=USER"


@dataclass(frozen=True)
class SlurmRelease:
    """A release of slurmrestd's data, such as ``v0.0.38``, and whether it can hide attempts."""

    name: str
    hides_attempts: bool


@dataclass(frozen=True)
class SlurmRest:
    """Asks slurmrestd.

    Parameters
    ----------
    url : str
        Address, such as ``http://slurm:6820``.
    user, token : str
        Who asks, and the JWT that shows it.
    """

    url: str
    user: str
    token: str = field(repr=False)
    timeout_s: float = 120.0

    def get(self, path: str, **query: str) -> JsonObject:
        """Return the JSON of a path; errors inside it count as errors."""
        asked = f"{self.url.rstrip('/')}/{path.lstrip('/')}"
        if query:
            asked += "?" + urllib.parse.urlencode(query)
        request = urllib.request.Request(
            asked,
            headers={
                "X-SLURM-USER-NAME": self.user,
                "X-SLURM-USER-TOKEN": self.token,
                "Accept": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
                held = answer.read()
        except urllib.error.HTTPError as cause:
            told = cause.read(400).decode(errors="replace").strip()
            raise self._refused(cause.code, told) from cause
        except OSError as cause:
            raise FetchError(
                f"{self.url}: slurmrestd does not answer ({cause}). Nothing was taken; the next "
                "round asks again."
            ) from cause
        try:
            document: JsonObject = json.loads(held)
        except ValueError as cause:
            raise FetchError(
                f"{asked}: the answer breaks off or is not JSON ({len(held):,} bytes). Nothing was "
                "taken; the next round asks again."
            ) from cause
        wrong = document.get("errors") or []
        if wrong:
            told = "; ".join(
                str(one.get("error") or one.get("description") or one) for one in wrong
            )
            raise self._refused(200, told)
        return document

    def release(self) -> SlurmRelease:
        """Return the newest release of its data."""
        paths = self.get("openapi/v3").get("paths") or {}
        found = {
            int(match[1]): described
            for path, described in paths.items()
            if (match := re.fullmatch(r"/slurmdb/v0\.0\.(\d+)/jobs/?", path))
        }
        newest = max(found, default=0)
        if newest < _OLDEST:
            raise FetchError(
                f"{self.url}: offers no accounting in a release that is known (v0.0.{_OLDEST} or "
                "newer). Load the openapi plug-in for slurmdbd, or use sacct: leave --rest out."
            )
        taken = found[newest].get("get", {}).get("parameters") or []
        # from 23.11 on, attempts before a requeue are told only if they are asked for
        return SlurmRelease(
            f"v0.0.{newest}", any(one.get("name") == "show_duplicates" for one in taken)
        )

    def _refused(self, code: int, told: str) -> FetchError:
        if code in (401, 403) or "authenticat" in told.lower():
            return FetchError(
                f"{self.url}: the token of {self.user!r} is refused ({told[:120]}); it may have "
                f"expired. {_NEW_TOKEN}"
            )
        return FetchError(f"{self.url}: {told[:200] or f'HTTP status {code}'}.")
