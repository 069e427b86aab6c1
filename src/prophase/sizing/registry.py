"""Every sizer by name. A new one is a line here; nothing is imported before it is used.

Another package offers sizers of its own by entry points: group ``prophase.sizers``, the sizer's
name, and its class as ``module:Class``.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from prophase.errors import ParameterError, not_among
from prophase.sizing.sizer import OnlineSizer

#: name -> module and class below ``prophase.sizing``; the class takes ``risk``
_OURS = {
    "default": "least_waste.sizer:LeastWaste",
    # as recommendations are made: a task without history keeps its request
    "own-history": "least_waste.sizer:OwnHistory",
    "request": "baselines.seen_peaks:UserRequest",
    "maximum": "baselines.seen_peaks:MaximumSeen",
    "percentile": "baselines.seen_peaks:PercentileSeen",
    "krr": "baselines.krr_and_vpa:KrrRule",
    "vpa": "baselines.krr_and_vpa:KubernetesVpa",
    "tovar": "baselines.tovar:Tovar",
    "witt-std": "baselines.witt:WittStandardDeviation",
    "witt-max": "baselines.witt:WittMaximumError",
    "witt-waste": "baselines.witt:WittWastage",
    "sizey": "baselines.sizey:SizeyLike",
    "profile": "baselines.seen_peaks:PerProfile",
    "phase": "baselines.seen_peaks:PerPhase",
    "thesis": "bins.sizer:ThesisBins",
}
#: name -> module and class, those of other packages included
SIZERS = {name: f"prophase.sizing.{home}" for name, home in _OURS.items()} | {
    point.name: point.value
    for point in entry_points(group="prophase.sizers")
    if point.name not in _OURS
}


def make_online_sizer(name: str | None = None, risk: float | None = None) -> OnlineSizer:
    """Return a sizer that has seen nothing yet.

    Parameters
    ----------
    name : str, optional
        One of :data:`SIZERS`; without it the default, which wins our benchmarks.
    risk : float, optional
        Share of tasks that may be killed, between 0 and 1. Smaller asks for more. Without it
        the default weighs each kill against the memory that avoiding it would waste.

    Examples
    --------
    >>> sizer = make_online_sizer("maximum")
    >>> sizer.predict("align", {"request_gib": 16.0})
    16.0
    >>> sizer.observe("align", {"request_gib": 16.0}, 4.0, 0.5, False)
    >>> sizer.predict("align", {"request_gib": 16.0})
    4.4
    """
    chosen = "default" if name is None else name
    if chosen not in SIZERS:
        raise ParameterError(not_among(f"sizer {chosen!r} is unknown.", chosen, SIZERS))
    if risk is not None and not 0 < risk < 1:
        raise ParameterError(
            f"risk is {risk}, but lies between 0 and 1. For one kill in a hundred pass 0.01."
        )
    home, _, kind = SIZERS[chosen].partition(":")
    made = getattr(import_module(home), kind)(risk=risk)
    if not isinstance(made, OnlineSizer):
        raise ParameterError(
            f"sizer {chosen!r} ({SIZERS[chosen]}) is no OnlineSizer. Derive it from "
            "prophase.sizing.OnlineSizer."
        )
    return made
