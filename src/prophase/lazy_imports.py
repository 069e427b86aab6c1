"""Import modules when they are used: heavy ones late, optional ones with a word how to get them.

Starting the program would otherwise load pandas, Ibis and numba for a one-line answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from prophase.errors import MissingExtraError


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that finds each name in its home module.

    Parameters
    ----------
    package : str
        Name of the package that offers the names.
    homes : mapping
        Offered name -> module inside the package that defines it.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find


def optional(module: str, what: str, extra: str) -> Any:
    """Return a module of one of Prophase's extras, or say what needs it and how to install it.

    Examples
    --------
    >>> optional("sklearn.cluster", "learning profiles", "learn").KMeans.__name__
    'KMeans'
    >>> optional("no_such_module", "learning profiles", "learn")
    Traceback (most recent call last):
    prophase.errors.MissingExtraError: learning profiles needs an optional part: pip install ...
    """
    try:
        return import_module(module)
    except ImportError as cause:
        raise MissingExtraError(what, extra) from cause


@contextmanager
def without_estimators() -> Iterator[None]:
    """Load XGBoost's trees without scikit-learn, which takes longer than most answers.

    Only for a command that ends with its answer: XGBoost offers no estimators afterwards.
    """
    if "sklearn" in sys.modules or "xgboost" in sys.modules:
        yield
        return
    sys.modules["sklearn"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["sklearn"]
