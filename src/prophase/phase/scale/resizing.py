"""When an allocation really changes: small differences are not worth a resize."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.errors import ParameterError
from prophase.phase.scale.fleet import Fleet, Floats


@dataclass(frozen=True)
class Hysteresis:
    """How far the wanted allocation may lie from the current one before it is changed.

    Parameters
    ----------
    up : float, default=0.0
        Share by which more must be wanted before the allocation rises: the least step upwards.
    down : float, default=0.0
        Share by which less must be wanted before it falls. Larger means fewer resizes and a
        larger allocation.
    """

    up: float = 0.0
    down: float = 0.0

    def __post_init__(self) -> None:
        if self.up < 0 or not 0 <= self.down < 1:
            raise ParameterError(
                f"hysteresis: up is {self.up} and down is {self.down}. Pass shares from 0 on; "
                "down lies below 1."
            )


def held(fleet: Fleet, wanted: Floats, rule: Hysteresis) -> Floats:
    """Return the allocation of each decision: the wanted one, or the one before it if near.

    Examples
    --------
    >>> fleet = Fleet.of_runs([[1.0] * 4], every=1)
    >>> held(fleet, np.array([10.0, 9.5, 10.2, 7.0]), Hysteresis(up=0.05, down=0.1)).tolist()
    [10.0, 10.0, 10.0, 7.0]
    """
    if rule.up == 0 and rule.down == 0:
        return wanted
    order = fleet.wave_order
    chosen = wanted[order]
    for wave, before in fleet.in_waves():
        current, now = chosen[before], chosen[wave]
        near = (now <= current * (1 + rule.up)) & (now >= current * (1 - rule.down))
        np.copyto(now, current, where=near)
    found = np.empty_like(chosen)
    found[order] = chosen
    return found
