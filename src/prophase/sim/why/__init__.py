"""Why do jobs wait? Every second of waiting has one cause, and removing a cause has an effect."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.sim.why.answer import Why, why
    from prophase.sim.why.limits import Limits
    from prophase.sim.why.splitting import WaitSplit, split_waits

_HOMES = {
    "Limits": "limits",
    "WaitSplit": "splitting",
    "Why": "answer",
    "split_waits": "splitting",
    "why": "answer",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Limits", "WaitSplit", "Why", "split_waits", "why"]
