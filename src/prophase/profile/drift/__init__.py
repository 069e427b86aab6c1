"""Are predictions and profiles still right? Watch finished jobs, notice changes, mend them."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.drift.monitor import Alarm, DriftMonitor

_HOMES = {
    "Alarm": "monitor",
    "DriftMonitor": "monitor",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Alarm", "DriftMonitor"]
