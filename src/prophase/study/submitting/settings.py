"""How daring advised requests may be: the part [requests] of a workspace's prophase.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prophase.errors import ParameterError, not_among
from prophase.sizing.advising.advice import Gate
from prophase.trace.units import parse_share

_KNOWN = ("risk", "min_saving", "min_runs", "max_oom")


def request_settings(settings: Mapping[str, Any]) -> tuple[float, Gate]:
    """Return risk and gate of a workspace, those of ``prophase size`` unless it says otherwise.

    Examples
    --------
    >>> request_settings({"requests": {"risk": "2%", "min_saving": "20%"}})
    (0.02, Gate(fewest_runs=10, least_saving=0.2, most_oom=None))
    """
    held = settings.get("requests", {})
    if not isinstance(held, Mapping):
        raise ParameterError(
            "prophase.toml: requests is a table: write [requests] above its lines."
        )
    for name in held:
        if name not in _KNOWN:
            raise ParameterError(
                not_among(f"prophase.toml: [requests] knows no {name!r}.", name, _KNOWN)
            )
    usual = Gate()
    runs = held.get("min_runs", usual.fewest_runs)
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise ParameterError(f"prophase.toml: min_runs is {runs!r}, but is a whole number of 1 up.")
    most = held.get("max_oom")
    return _share(held, "risk", 0.01), Gate(
        fewest_runs=runs,
        least_saving=_share(held, "min_saving", usual.least_saving),
        most_oom=None if most is None else _share(held, "max_oom", 0.0),
    )


def _share(held: Mapping[str, Any], name: str, usual: float) -> float:
    said = held.get(name)
    return usual if said is None else parse_share(str(said), name=f"prophase.toml: {name}")
