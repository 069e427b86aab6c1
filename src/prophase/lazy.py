"""Let a package offer names without importing the modules behind them until they are used.

Starting the program would otherwise load pandas, Ibis and numba for a one-line answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


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
