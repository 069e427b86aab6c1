"""A wider level as a prior: runs of others that stand beside too few of one's own.

Nothing is taken from others unless the user says so. Then the same kind of other tenants, or the
other kinds of the same tenant, may make up for runs that a kind does not have yet. They never lower
a request by themselves: a kind needs runs of its own, and asks for what both of them need.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from prophase.errors import ParameterError, not_among
from prophase.sizing.kind_runs import KEPT, KindRuns
from prophase.trace.identity.job_identity import Key

Prior = Literal["none", "kind", "tenant"]
PRIORS: tuple[Prior, ...] = get_args(Prior)
#: runs of its own that a kind needs beside those of a wider level
OWN_RUNS = 3
_SPOKEN = {"kind": "the same kind of other tenants", "tenant": "other kinds of the same tenant"}


def known_prior(named: str, where: str = "prior") -> Prior:
    """Return the prior of that name, or raise ParameterError.

    Examples
    --------
    >>> known_prior("kind")
    'kind'
    """
    found = next((one for one in PRIORS if one == named), None)
    if found is None:
        raise ParameterError(not_among(f"{where} is {named!r}, which is unknown.", named, PRIORS))
    return found


def spoken(prior: Prior) -> str:
    """Say whose runs a prior is made of.

    Examples
    --------
    >>> spoken("kind")
    'the same kind of other tenants'
    """
    return _SPOKEN[prior]


class WiderLevels:
    """The runs of all kinds, by the wider level that some of them share.

    Parameters
    ----------
    prior : {"none", "kind", "tenant"}
        What is shared.
    runs : mapping of (tenant, kind) to KindRuns
        Looked at when a level is asked for, so that later runs count.
    """

    def __init__(self, prior: Prior, runs: Mapping[Key, KindRuns]) -> None:
        self.prior, self._runs = known_prior(prior), runs
        self._members: defaultdict[str, list[Key]] = defaultdict(list)
        if prior != "none":
            for key in runs:
                self._members[self._level(key)].append(key)

    def add(self, key: Key) -> None:
        """Take note of a kind that has runs now."""
        if self.prior != "none" and key not in (members := self._members[self._level(key)]):
            members.append(key)

    def sharing(self, key: Key) -> list[Key]:
        """Return the other kinds of the same level."""
        if self.prior == "none":
            return []
        return [one for one in self._members[self._level(key)] if one != key]

    def beside(self, key: Key) -> KindRuns | None:
        """Return the latest runs of the others; None if there are none."""
        held = [self._runs[one].values for one in self.sharing(key)]
        if not held:
            return None
        values = np.concatenate(held, axis=1)
        return KindRuns(values, *key).sorted().latest(KEPT)

    def _level(self, key: Key) -> str:
        return key[1] if self.prior == "kind" else key[0]
