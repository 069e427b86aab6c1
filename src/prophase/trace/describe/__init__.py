"""What a trace looks like: counts, distributions, laws that fit and laws that do not."""

from prophase.trace.describe.description import Description, describe
from prophase.trace.describe.part import NotComputable

__all__ = ["Description", "NotComputable", "describe"]
