"""A wider level as a prior: runs of others that stand beside too few of one's own.

Nothing is taken from others unless the user says so. Then the same kind of other tenants, or the
other kinds of the same tenant, may make up for runs that a kind does not have yet. They never lower
a request by themselves: a kind needs runs of its own, and asks for what both of them need.

Without being told so, the kinds of one tenant say one thing of each other: how far further runs
went beyond the highest of so few. What a kind asks for is its own highest peak with that room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from prophase.errors import ParameterError, not_among
from prophase.sizing.kind_runs import KEPT, KindRuns
from prophase.sizing.least_waste.ladder import Floats
from prophase.trace.identity.job_identity import Key

Prior = Literal["none", "kind", "tenant"]
PRIORS: tuple[Prior, ...] = get_args(Prior)
#: runs of its own that a kind needs beside those of a wider level
OWN_RUNS = 3
#: kinds of a tenant that say how far further runs go, at least and (the latest) at most
FEWEST_KINDS, _MOST_KINDS = 5, 2000
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
        #: tenant -> its kinds in their order, found when they are asked for
        self._of_tenant: dict[str, dict[Key, None]] = {}
        #: kind -> by how many first runs, what the highest later peak is of the highest of those
        self._further: dict[Key, dict[int, float]] = {}
        #: tenant -> the same of all its kinds
        self._factors: dict[str, dict[int, Floats]] = {}

    def add(self, key: Key) -> None:
        """Take note of a kind that has runs now."""
        if self.prior != "none" and key not in (members := self._members[self._level(key)]):
            members.append(key)
        self._further.pop(key, None)
        self._factors.pop(key[0], None)
        if self._of_tenant and key not in self._of_tenant.get(key[0], ()):
            # copies share what does not grow
            self._of_tenant[key[0]] = {**self._of_tenant.get(key[0], {}), key: None}

    def over(self, runs: Mapping[Key, KindRuns]) -> WiderLevels:
        """Return the levels of a copy of the runs, which may grow while these stay as they are."""
        made = WiderLevels("none", runs)
        made.prior = self.prior
        made._members = defaultdict(list, {name: [*held] for name, held in self._members.items()})
        made._of_tenant, made._further = dict(self._of_tenant), dict(self._further)
        return made

    def further(self, tenant: str, count: int) -> Floats:
        """Return how far runs went beyond the highest of the first ones, a factor per kind.

        Jobs that do not say whose they are, where others do, are nobody's: they say nothing.

        Parameters
        ----------
        count : int
            How many runs are the first ones; kinds of the tenant that have more are asked.
        """
        if not self._of_tenant:
            for key in self._runs:
                self._of_tenant.setdefault(key[0], {})[key] = None
        if not tenant and len(self._of_tenant) > 1:
            return np.empty(0)
        held = self._factors.setdefault(tenant, {})
        if count not in held:
            kinds = [*self._of_tenant.get(tenant, ())][-_MOST_KINDS:]
            factors: Floats = np.array([self._beyond(key, count) for key in kinds], np.float64)
            held[count] = factors[np.isfinite(factors)]
        return held[count]

    def _beyond(self, key: Key, count: int) -> float:
        known = self._further.get(key, {})
        if count not in known:
            peaks = self._runs[key].of_latest_code().peaks
            more = len(peaks) > count
            factor = float(peaks[count:].max() / peaks[:count].max()) if more else np.nan
            self._further[key] = known = {**known, count: factor}
        return known[count]

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
