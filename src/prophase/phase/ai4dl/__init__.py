"""AI4DL itself: the class with the names of its README, and its model files."""

from prophase.phase.ai4dl.model import AI4DL
from prophase.phase.ai4dl.weights import KMeans, Scaler, read_parts

__all__ = ["AI4DL", "KMeans", "Scaler", "read_parts"]
