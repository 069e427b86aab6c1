"""What a trace looks like: counts, distributions, laws that fit and laws that do not."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.trace.describe.description import Description, describe
    from prophase.trace.describe.part import NotComputable

_HOMES = {"Description": "description", "NotComputable": "part", "describe": "description"}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Description", "NotComputable", "describe"]
