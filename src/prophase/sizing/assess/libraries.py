"""Libraries of the extra ``learn``, imported when a method needs them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from prophase.errors import MissingExtraError


def library(name: str) -> ModuleType:
    """Return a module of the extra, or say how to install it.

    Examples
    --------
    >>> library("sklearn.svm").SVC.__name__
    'SVC'
    """
    try:
        return import_module(name)
    except ImportError as cause:
        raise MissingExtraError(f"this ({name.partition('.')[0]})", "learn") from cause
