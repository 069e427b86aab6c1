"""How much should a job ask for? Requests per attempt, learnt from what runs used."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.sizing.registry import SIZERS, make_online_sizer
    from prophase.sizing.sizer import Features, OnlineSizer, Outcome

_HOMES = {
    "SIZERS": "registry",
    "Features": "sizer",
    "OnlineSizer": "sizer",
    "Outcome": "sizer",
    "make_online_sizer": "registry",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["SIZERS", "Features", "OnlineSizer", "Outcome", "make_online_sizer"]
