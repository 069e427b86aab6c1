"""AI4DL itself: the class with the names of its README, and its model files."""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.papers.ai4dl.model import AI4DL

__getattr__ = lazy_names(__name__, {"AI4DL": "model"})

__all__ = ["AI4DL"]
