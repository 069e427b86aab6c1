"""The learning libraries, imported when they are needed: they are an extra of the package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from prophase.errors import MissingExtraError

EXTRA = "learn"


def library(module: str) -> Any:
    """Return a module of scikit-learn, hdbscan or joblib, or say how to install it.

    Examples
    --------
    >>> library("sklearn.cluster").KMeans.__name__
    'KMeans'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as cause:
        raise MissingExtraError("learning profiles", EXTRA) from cause
