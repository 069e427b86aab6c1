"""Quotas of Kueue's ClusterQueues, and what their cohorts lend each other.

A quota is an amount of a resource in a flavor of nodes. A queue with unused quota lends it to
others of its cohort, up to its ``lendingLimit``; a queue takes no more from its cohort than its
``borrowingLimit``. Cohorts may have quotas and parents of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prophase import units
from prophase.errors import FormatError
from prophase.json_types import JsonMapping

#: a flavor and a resource of it
Cell = tuple[str, str]
#: rounding of sums of cores, bytes and GPUs
_SLACK = 1e-9


@dataclass(frozen=True)
class Quota:
    """What a queue or cohort has of one resource in one flavor."""

    nominal: float
    #: of it, what others may use
    lend: float = math.inf
    #: what may be used beyond it
    borrow: float = math.inf


@dataclass(frozen=True)
class FlavorGroup:
    """Resources that are taken from the same flavor, and the flavors in the order of trial."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True)
class ClusterQueue:
    """One ClusterQueue: its quotas, and by which rules its Workloads are admitted."""

    name: str
    cohort: str
    groups: tuple[FlavorGroup, ...]
    quotas: Mapping[Cell, Quota]
    #: the first Workload holds up those behind it
    strict: bool = False
    #: Workloads may be stopped for others: of borrowers for owners, of this queue by priority
    reclaim: str = "Never"
    within: str = "Never"
    #: try a further flavor before borrowing
    borrow_last: bool = False
    #: why nothing is admitted; empty: it is
    stopped: str = ""

    @classmethod
    def of(cls, document: JsonMapping) -> ClusterQueue:
        """Take a ClusterQueue as the API server has it (v1beta1 or v1beta2)."""
        spec = document.get("spec") or {}
        rules = spec.get("preemption") or {}
        groups, quotas = quotas_of(spec, str(document["metadata"]["name"]))
        stop = str(spec.get("stopPolicy") or "None")
        order = (spec.get("flavorFungibility") or {}).get("whenCanBorrow")
        return cls(
            str(document["metadata"]["name"]),
            str(spec.get("cohortName") or spec.get("cohort") or ""),
            groups,
            quotas,
            strict=spec.get("queueingStrategy") == "StrictFIFO",
            reclaim=str(rules.get("reclaimWithinCohort") or "Never"),
            within=str(rules.get("withinClusterQueue") or "Never"),
            borrow_last=order == "TryNextFlavor",
            stopped="" if stop == "None" else f"its ClusterQueue is stopped ({stop})",
        )


def quotas_of(spec: JsonMapping, where: str) -> tuple[tuple[FlavorGroup, ...], dict[Cell, Quota]]:
    """Return the resource groups of a ClusterQueue or Cohort, and its quotas."""
    groups, quotas = [], {}
    for group in spec.get("resourceGroups") or ():
        flavors = group.get("flavors") or ()
        groups.append(
            FlavorGroup(
                tuple(map(str, group.get("coveredResources") or ())),
                tuple(str(one["name"]) for one in flavors),
            )
        )
        for flavor in flavors:
            for one in flavor.get("resources") or ():
                quotas[str(flavor["name"]), str(one["name"])] = Quota(
                    _amount(one.get("nominalQuota", "0"), where),
                    _limit(one.get("lendingLimit"), where),
                    _limit(one.get("borrowingLimit"), where),
                )
    return tuple(groups), quotas


def _amount(text: object, where: str) -> float:
    return units.parse_quantity(str(text), where=f"quota of {where}", error=FormatError)


def _limit(text: object, where: str) -> float:
    return math.inf if text is None else _amount(text, where)


@dataclass
class _Node:
    """A ClusterQueue or cohort in the tree of quotas."""

    parent: str
    quotas: Mapping[Cell, Quota]
    #: quota of it and of what its children lend it
    whole: dict[Cell, float] = field(default_factory=dict)
    used: dict[Cell, float] = field(default_factory=dict)

    def own(self, cell: Cell) -> float:
        """Return the quota that is not lent."""
        quota = self.quotas.get(cell)
        lend = math.inf if quota is None else quota.lend
        return max(0.0, self.whole.get(cell, 0.0) - lend)


class QuotaTree:
    """What each ClusterQueue uses now, and what it could still take."""

    def __init__(self, queues: Iterable[ClusterQueue], cohorts: Iterable[JsonMapping] = ()) -> None:
        self._nodes: dict[str, _Node] = {}
        for one in cohorts:
            spec = one.get("spec") or {}
            parent = str(spec.get("parentName") or spec.get("parent") or "")
            name = str(one["metadata"]["name"])
            self._nodes[_cohort(name)] = _Node(
                _cohort(parent) if parent else "", quotas_of(spec, f"cohort {name}")[1]
            )
        found = list(queues)
        for queue in found:
            key = _cohort(queue.cohort) if queue.cohort else ""
            self._nodes[queue.name] = _Node(key, queue.quotas)
        for node in list(self._nodes.values()):
            if node.parent and node.parent not in self._nodes:
                self._nodes[node.parent] = _Node("", {})
        for name in sorted(self._nodes, key=self._depth, reverse=True):
            node = self._nodes[name]
            for cell, quota in node.quotas.items():
                node.whole[cell] = node.whole.get(cell, 0.0) + quota.nominal
            if node.parent:
                above = self._nodes[node.parent].whole
                for cell, amount in node.whole.items():
                    above[cell] = above.get(cell, 0.0) + amount - node.own(cell)

    def _depth(self, name: str) -> int:
        depth, seen = 0, {name}
        while name := self._nodes[name].parent:
            if name in seen:
                raise FormatError(f"cohorts: {name.removeprefix(_COHORT)} is its own parent.")
            seen.add(name)
            depth += 1
        return depth

    def free(self, queue: str, cell: Cell) -> float:
        """Return how much more a queue may take of a resource, lent quota included.

        Examples
        --------
        >>> quotas = {("a100", "gpu"): Quota(4.0)}
        >>> pair = [ClusterQueue(name, "ml", (), quotas) for name in ("red", "blue")]
        >>> tree = QuotaTree(pair)
        >>> tree.use("red", {("a100", "gpu"): 6.0})
        >>> tree.free("blue", ("a100", "gpu")), tree.borrows("red", {("a100", "gpu"): 0.0})
        (2.0, True)
        """
        node = self._nodes[queue]
        used, whole = node.used.get(cell, 0.0), node.whole.get(cell, 0.0)
        if not node.parent:
            return whole - used
        own = node.own(cell)
        lent = self.free(node.parent, cell)
        quota = node.quotas.get(cell)
        if quota is not None and quota.borrow < math.inf:
            lent = min(lent, whole - own - max(0.0, used - own) + quota.borrow)
        return max(0.0, own - used) + lent

    def most(self, queue: str, cell: Cell) -> float:
        """Return how much a queue could take if nobody used anything."""
        node = self._nodes[queue]
        whole = node.whole.get(cell, 0.0)
        if not node.parent:
            return whole
        quota = node.quotas.get(cell)
        borrow = math.inf if quota is None else quota.borrow
        return min(node.own(cell) + self.most(node.parent, cell), whole + borrow)

    def could_fit(self, queue: str, cell: Cell, amount: float) -> bool:
        """Return whether a queue may take so much now, or could if others gave back its quota.

        What a cohort below another one has counts as the queue's own.
        """
        if amount <= self.free(queue, cell) + _SLACK:
            return True
        node = self._nodes[queue]
        quota = node.quotas.get(cell)
        if amount > self.most(queue, cell) + _SLACK:
            return False
        if quota is not None and amount <= quota.nominal + _SLACK:
            return True
        left = amount
        while node.parent:
            used = node.used.get(cell, 0.0)
            if used + left <= node.whole.get(cell, 0.0) + _SLACK:
                return True
            left -= max(0.0, node.own(cell) - used)
            node = self._nodes[node.parent]
        return False

    def used(self, queue: str, cell: Cell) -> float:
        """Return what a queue uses."""
        return self._nodes[queue].used.get(cell, 0.0)

    def fits(self, queue: str, asked: Mapping[Cell, float]) -> bool:
        """Return whether a queue may take this much more."""
        return all(amount <= self.free(queue, cell) + _SLACK for cell, amount in asked.items())

    def borrows(self, queue: str, asked: Mapping[Cell, float]) -> bool:
        """Return whether a queue would then use more than its own quota."""
        node = self._nodes[queue]
        return any(
            node.used.get(cell, 0.0) + amount > node.whole.get(cell, 0.0) + _SLACK
            for cell, amount in asked.items()
        )

    def use(self, queue: str, asked: Mapping[Cell, float], sign: float = 1.0) -> None:
        """Take an amount; with ``sign`` -1 give it back."""
        for cell, amount in asked.items():
            name, change = queue, sign * amount
            while name and change:
                node = self._nodes[name]
                own, before = node.own(cell), node.used.get(cell, 0.0)
                node.used[cell] = before + change
                # what lies beyond the own quota is used of the cohort
                change = max(0.0, before + change - own) - max(0.0, before - own)
                name = node.parent

    def cohort_of(self, queue: str) -> str:
        """Return the root of the queue's cohorts; itself if it has none."""
        while parent := self._nodes[queue].parent:
            queue = parent
        return queue


_COHORT = "cohort "


def _cohort(name: str) -> str:
    """Return the key of a cohort, which may be called as a queue is."""
    return _COHORT + name
