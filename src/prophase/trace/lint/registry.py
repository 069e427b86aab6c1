"""How checks are declared and found.

A check is a function that takes a subject and yields findings. ``@check`` gives
it a name and says what it needs; it then runs wherever those needs are met.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module

from prophase.trace.lint.finding import Finding
from prophase.trace.lint.subject import Subject

Look = Callable[[Subject], Iterator[Finding]]


@dataclass(frozen=True)
class Check:
    """One kind of defect and the function that looks for it."""

    name: str
    #: what it finds, in one line
    title: str
    #: what must be there: "files", "inputs", "test", "jobs", "jobs.duration_s" ...
    needs: Sequence[str]
    look: Look

    def applies(self, subject: Subject) -> bool:
        return all(subject.has(need) for need in self.needs)

    def run(self, subject: Subject) -> list[Finding]:
        return [replace(finding, check=self.name) for finding in self.look(subject)]


_CHECKS: dict[str, Check] = {}


def check(name: str, *needs: str) -> Callable[[Look], Look]:
    """Declare a check; the first line of its docstring is its title."""

    def declare(look: Look) -> Look:
        title = (look.__doc__ or "").strip().splitlines()[0]
        _CHECKS[name] = Check(name, title, needs, look)
        return look

    return declare


@cache
def all_checks() -> dict[str, Check]:
    """Return every check by name.

    Examples
    --------
    >>> all_checks()["zero-duration"].title
    'Jobs that ran for no time at all.'
    """
    from prophase.trace.lint import checks as folder

    for module in pkgutil.iter_modules(folder.__path__, folder.__name__ + "."):
        import_module(module.name)
    return dict(sorted(_CHECKS.items()))
