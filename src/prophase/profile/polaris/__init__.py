"""PolarisProfiler's paper, table by table: what comes out again, and what does not."""

from prophase.profile.polaris.item import Item, Verdict
from prophase.profile.polaris.reproducing import reproduce

__all__ = ["Item", "Verdict", "reproduce"]
