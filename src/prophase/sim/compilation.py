"""When kernels are compiled: when they are first needed, each once, and not for a few jobs.

``njit`` is numba's, with two differences. A function with a signature is compiled when it is first
called, not when its file is imported; so a replay compiles what it uses. And a constant argument
does not make a function of its own: ``stop(job, 1)`` and ``stop(job, outcome)`` are one.

``interpreted`` gives the plain Python of a kernel and of all it calls. It decides the same, some
hundred times more slowly: a few jobs are replayed long before the compiler is ready.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType, MethodType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher

from prophase.sim.array_groups import held


def njit(signature: Any = None, /, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function when it is first needed, once."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if not isinstance(dispatcher, Dispatcher):
            # NUMBA_DISABLE_JIT: everything stays Python
            return dispatcher
        if signature is None:
            return _without_literals(dispatcher)
        return _compiled_when_needed(dispatcher, signature)

    return decorate


def _without_literals(dispatcher: Any) -> Any:
    """Let constants count as what they are one of."""
    template = type(dispatcher).get_call_template

    def get_call_template(self: Any, args: Any, kws: Any) -> Any:
        plain = [types.unliteral(one) for one in args]
        return template(self, plain, {name: types.unliteral(one) for name, one in kws.items()})

    dispatcher.get_call_template = MethodType(get_call_template, dispatcher)
    return dispatcher


def _compiled_when_needed(dispatcher: Any, signature: Any) -> Any:
    """Compile a function for its one signature when it is first called."""
    template = type(dispatcher).get_call_template

    def get_call_template(self: Any, args: Any, kws: Any) -> Any:
        self.settle()
        return template(self, args, kws)

    def compile_for_args(self: Any, *_args: Any, **_kws: Any) -> Any:
        self.settle()
        # numba calls what is returned: now that it is compiled, itself
        return self

    dispatcher.get_call_template = MethodType(get_call_template, dispatcher)
    dispatcher._compile_for_args = MethodType(compile_for_args, dispatcher)
    dispatcher.settle = partial(_settle, dispatcher, signature)
    return dispatcher


def _settle(dispatcher: Any, signature: Any) -> None:
    """Compile a function for its signature, or read it from the disk."""
    if not dispatcher.overloads:
        _load_array_functions()
        dispatcher.compile(signature)
        dispatcher.disable_compile()


@cache
def _load_array_functions() -> None:
    """Load what numba needs to call any kernel, without SciPy's linear algebra.

    Numba loads that, too, only to see that it is there: 20 MiB and 0.3 s that no kernel of ours
    needs. A function with a matrix product still gets it when it is compiled.
    """
    linalg: Any = import_module("numba.np.linalg")
    found = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = found


def is_compiled(kernel: Any) -> bool:
    """Tell whether a kernel is compiled, here or on the disk."""
    return bool(kernel.overloads or kernel._cache._cache_file._load_index())


#: jobs times nodes up to which Python, at a third of a second, is done before the compiler; -1:
#: always compile
FEW = 4_000


def call(kernel: Any, *arguments: Any, work: int) -> Any:
    """Call a kernel with arrays, named tuples of arrays, and policies.

    If it is not compiled yet and there is little work, it runs as plain Python.
    """
    if isinstance(kernel, Dispatcher) and (work > FEW or is_compiled(kernel)):
        return kernel(*(held(one) if hasattr(one, "_fields") else one for one in arguments))
    with np.errstate(all="ignore"):
        return interpreted(kernel)(*map(interpreted, arguments))


_PLAIN: dict[Any, Callable[..., Any]] = {}


def interpreted(kernel: Any) -> Callable[..., Any]:
    """Return a kernel as plain Python, with all that it calls."""
    if not isinstance(kernel, Dispatcher):
        plain: Callable[..., Any] = kernel
        return plain
    if kernel not in _PLAIN:
        source = kernel.py_func
        names = dict(source.__globals__)
        _PLAIN[kernel] = FunctionType(
            source.__code__, names, source.__name__, source.__defaults__, source.__closure__
        )
        for name in set(source.__code__.co_names) & set(names):
            names[name] = interpreted(names[name])
    return _PLAIN[kernel]


def compile_all() -> int:
    """Compile every kernel that has a signature, and keep it on the disk; return how many."""
    compiled = 0
    for folder in ("kernels", "place", "order"):
        package = import_module(f"prophase.sim.{folder}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            for kernel in vars(import_module(module.name)).values():
                if isinstance(kernel, Dispatcher) and hasattr(kernel, "settle"):
                    kernel.settle()
                    compiled += 1
    return compiled
