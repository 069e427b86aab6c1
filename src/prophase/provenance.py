"""Where numbers come from: every result that leaves the program says it in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prophase.version import __version__


def with_provenance(
    document: Mapping[str, Any], *, data_hash: str = "", seed: int | None = None
) -> dict[str, Any]:
    """Return a result with version, data hash and seed; what it says of them itself counts.

    Examples
    --------
    >>> told = with_provenance({"jobs": 3, "seed": 7}, data_hash="5f2a", seed=0)
    >>> told["data_hash"], told["seed"], "version" in told
    ('5f2a', 7, True)
    """
    origin: dict[str, Any] = {"version": __version__}
    if data_hash:
        origin["data_hash"] = data_hash
    if seed is not None:
        origin["seed"] = seed
    return {**document, **{name: one for name, one in origin.items() if name not in document}}
