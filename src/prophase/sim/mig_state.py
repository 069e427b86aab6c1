"""The state of a replay on GPUs that are divided by MIG.

For the rest of the simulator a GPU with an instance on it is taken, CPU and memory of a node are
as ever; which slices are free, and where an instance may begin, is known here alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.rules.mig import Mig
from prophase.sim.signatures import (
    ASK_GPUS,
    ASK_MILLI,
    FREE_GPU,
    FREE_SHARE,
    FREE_WHOLE,
    GPUS,
    Ints,
)
from prophase.sim.static_loop import PlaceSettings
from prophase.sim.stepwise import ClusterState, Pace
from prophase.sim.workload import Workload
from prophase.units.mig import MigModel, MigProfile


class Slot(NamedTuple):
    """An instance: where it is, and which slices it covers."""

    node: int
    gpu: int
    start: int
    profile: str


def as_shares(workload: Workload, rule: Mig, cluster: Cluster) -> Workload:
    """Return the workload with one part of a GPU per instance where a profile is asked for."""
    models = rule.models(cluster)
    asks = workload.asks.copy()
    for job, name in enumerate(rule.profiles(workload, models)):
        if name:
            model = next(one for one in models if one is not None and name in one.profiles)
            asks[job, ASK_GPUS] = 1
            asks[job, ASK_MILLI] = 1000 * model.profiles[name].length // model.slices
    return replace(workload, asks=asks)


class MigState(ClusterState):
    """What a policy sees on GPUs that are divided by MIG, and what it may do.

    Attributes
    ----------
    waited_s, blocked_s : float
        Time that jobs with a profile waited, and of it that in which a GPU had enough free
        slices for one, but at no place where it may begin.
    repartitions : int
        How often an empty GPU was divided anew.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        place: PlaceSettings,
        rule: Mig,
        pace: Pace | None = None,
    ) -> None:
        self.models = rule.models(cluster)
        self.profile = rule.profiles(workload, self.models)
        divided = np.array([bool(name) for name in self.profile])
        # CPU and memory are found by the usual rules, slices here
        beside = workload.asks.copy()
        beside[divided, ASK_GPUS] = beside[divided, ASK_MILLI] = 0
        super().__init__(replace(workload, asks=beside), cluster, place, pace=pace)
        self.workload = workload
        self._names = sorted(set(self.profile))
        self._again = rule.repartition == "empty"
        #: (node, GPU) -> slices in use, as a bit set
        self.used: dict[tuple[int, int], int] = {}
        #: (node, GPU) -> instances there are; a GPU that is missing is divided as needed
        self.layout: dict[tuple[int, int], list[tuple[str, int]]] = {}
        #: running job -> its instances
        self.slots: dict[int, list[Slot]] = {}
        self.waited_s = self.blocked_s = 0.0
        self.repartitions = 0
        self._seen = (self.now, 0, 0)
        layouts = rule.layouts(cluster, self.models)
        self._fixed = layouts is not None
        for node, model in enumerate(self.models):
            instances = None if layouts is None else layouts[node]
            if model is None or (layouts is not None and instances is None):
                continue
            for gpu in range(int(cluster.matrix[node, GPUS])):
                self.used[node, gpu] = 0
                if instances is not None:
                    self.layout[node, gpu] = instances
                    # nobody gets the whole of it
                    self._take_whole(node, gpu, 1)

    def kind(self, job: int) -> int:
        """Return a number that jobs with the same request share."""
        return super().kind(job) * len(self._names) + self._names.index(self.profile[job])

    def fits(self, job: int, node: int) -> bool:
        """Tell whether one instance of a job could start on a node now."""
        return super().fits(job, node) and (
            not self.profile[job] or next(self._offers(job, [node]), None) is not None
        )

    def could_start(self, job: int, without: Sequence[int] = ()) -> bool:
        """Tell whether all instances of a job would find room now, or if some jobs did not run."""
        before = dict(self.used), dict(self.layout), dict(self.slots), self.repartitions
        fits = super().could_start(job, without)
        self.used, self.layout, self.slots, self.repartitions = before
        return fits

    def observe(self) -> None:
        """Count what jobs wait for slices, and whether geometry alone keeps them."""
        then, waiting, blocked = self._seen
        self.waited_s += waiting * (self.now - then)
        self.blocked_s += blocked * (self.now - then)
        asked = [self.profile[job] for job in self.queue if self.profile[job]]
        stuck = {name for name in set(asked) if self._geometry_alone(name)}
        self._seen = (self.now, len(asked), sum(name in stuck for name in asked))

    def _geometry_alone(self, name: str) -> bool:
        enough = False
        for (node, gpu), used in self.used.items():
            profile = self._profile(node, name)
            if profile is None or not self._open(node, gpu):
                continue
            if next(self._starts(node, gpu, profile), None) is not None:
                return False
            model = self.models[node]
            free = 0 if model is None else model.slices - used.bit_count()
            enough |= free >= profile.length
        return enough

    def _placed(self, job: int, workers: int | None = None) -> Ints | None:
        if not self.profile[job]:
            return super()._placed(job, workers)
        count = self.instances(job) if workers is None else workers
        return self._taken(job, [range(len(self.cluster))] * count)

    def _placed_on(self, job: int, nodes: Sequence[int]) -> Ints | None:
        if not self.profile[job]:
            return super()._placed_on(job, nodes)
        return self._taken(job, [[node] for node in nodes])

    def _taken(self, job: int, choices: Sequence[Sequence[int]]) -> Ints | None:
        """Take an instance on one of the nodes of each choice; None if one has no room."""
        rows = np.full((len(choices), 2), -1, np.int64)
        for row, nodes in enumerate(choices):
            best = min(self._offers(job, nodes), default=None)
            if best is None:
                self._free(job, rows[:row])
                return None
            slot = Slot(*best[-3:], self.profile[job])
            self._take_on(job, slot.node)
            self._divide(slot)
            self.slots.setdefault(job, []).append(slot)
            rows[row] = slot.node, 1 << slot.gpu
        return rows

    def _offers(
        self, job: int, nodes: Sequence[int]
    ) -> Iterator[tuple[int, int, float, int, int, int]]:
        """Yield where an instance may begin: the fewest other places lost, the fullest GPU first.

        Then the place policy's choice of node, and the lowest node, GPU and start.
        """
        for node in nodes:
            profile = self._profile(node, self.profile[job])
            if profile is None or not super().fits(job, node):
                continue
            score = -self.score(job, node)
            for gpu in range(int(self.cluster.matrix[node, GPUS])):
                if (node, gpu) not in self.used or not self._open(node, gpu):
                    continue
                used = self.used[node, gpu]
                for start in self._starts(node, gpu, profile):
                    lost = self._lost(node, gpu, used, profile.mask(start))
                    yield lost, -used.bit_count(), score, node, gpu, start

    def _lost(self, node: int, gpu: int, used: int, mask: int) -> int:
        """Return how many places for instances of any profile would no longer be free."""
        model = self.models[node]
        if self._fixed or model is None:
            return 0
        return sum(
            1
            for other in model.profiles.values()
            for start in model.placements(used, other)
            if other.mask(start) & mask
        )

    def _starts(self, node: int, gpu: int, profile: MigProfile) -> Iterator[int]:
        """Yield where an instance could begin on a GPU now."""
        used, model = self.used[node, gpu], self.models[node]
        instances = self.layout.get((node, gpu))
        if instances is None:
            if model is not None:
                yield from model.placements(used, profile)
            return
        there = [
            start
            for name, start in instances
            if name == profile.name and not profile.mask(start) & used
        ]
        if not there and self._again and used == 0:
            there = [profile.starts[0]]
        yield from there

    def _profile(self, node: int, name: str) -> MigProfile | None:
        model: MigModel | None = self.models[node]
        return None if model is None else model.profiles.get(name)

    def _open(self, node: int, gpu: int) -> bool:
        """Tell whether a GPU is divided, or could be: nobody has it as a whole or in shares."""
        return (
            (node, gpu) in self.layout
            or self.used[node, gpu] != 0
            or bool(self._nodes[node, FREE_SHARE + gpu] == 1000)
        )

    def _divide(self, slot: Slot) -> None:
        """Take the slices of an instance, dividing its GPU anew if that has to be."""
        at = slot.node, slot.gpu
        profile = self._profile(slot.node, slot.profile)
        assert profile is not None, "only nodes that offer the profile are looked at"
        if at in self.layout:
            if (slot.profile, slot.start) not in self.layout[at]:
                self.layout[at] = [(slot.profile, start) for start in _side_by_side(profile)]
                self.repartitions += 1
        elif self.used[at] == 0:
            self._take_whole(*at, 1)
        self.used[at] |= profile.mask(slot.start)

    def _take_whole(self, node: int, gpu: int, times: int) -> None:
        """Take a GPU from those that can be had as a whole or in shares; -1 gives it back."""
        self._nodes[node, [FREE_GPU, FREE_SHARE + gpu]] -= 1000 * times
        self._nodes[node, FREE_WHOLE] -= times

    def _free(self, job: int, rows: Ints) -> None:
        if not self.profile[job]:
            super()._free(job, rows)
            return
        # CPU and memory: no GPU was taken by the usual rules
        super()._free(job, np.column_stack([rows[:, 0], np.zeros(len(rows), np.int64)]))
        for slot in self.slots.pop(job, []):
            profile = self._profile(slot.node, slot.profile)
            assert profile is not None, "it ran there"
            at = slot.node, slot.gpu
            self.used[at] &= ~profile.mask(slot.start)
            if at not in self.layout and self.used[at] == 0:
                self._take_whole(*at, -1)


def _side_by_side(profile: MigProfile) -> list[int]:
    """Return starts of as many instances of a profile as a GPU holds."""
    starts: list[int] = []
    for start in profile.starts:
        if not starts or start >= starts[-1] + profile.length:
            starts.append(start)
    return starts
