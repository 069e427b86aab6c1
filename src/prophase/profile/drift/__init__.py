"""Are predictions and profiles still right? Watch finished jobs, notice changes, mend them."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.drift.live import LiveProfiles
    from prophase.profile.drift.monitor import Alarm, DriftMonitor
    from prophase.profile.drift.step import Step
    from prophase.profile.drift.store import WatchFolder
    from prophase.profile.drift.watcher import Watcher

_HOMES = {
    "Alarm": "monitor",
    "DriftMonitor": "monitor",
    "LiveProfiles": "live",
    "Step": "step",
    "WatchFolder": "store",
    "Watcher": "watcher",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Alarm", "DriftMonitor", "LiveProfiles", "Step", "WatchFolder", "Watcher"]
