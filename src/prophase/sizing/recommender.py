"""The recommender: what each job should ask for, learnt from the jobs that ended.

One object behind every door. It keeps the runs of each kind, the recommendation of the kind (one
ladder for configuration files, back-tested on its past) and the least-waste sizer with its record,
which sizes single jobs. It is saved in a model file and learns from further jobs without a refit.
"""

from __future__ import annotations

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ModelFileError
from prophase.json_types import JsonMapping
from prophase.modelfile import load_model, save_model
from prophase.plain import finite
from prophase.sizing.gpu_grants import GpuGrant, part_of
from prophase.sizing.job_request import (
    KindEvidence,
    KindRequest,
    RequestRecommendation,
    kind_request,
    requested,
)
from prophase.sizing.kind_recommendation import (
    Gate,
    Recommendation,
    ResourceRecommendations,
    recommend_runs,
    recommended,
)
from prophase.sizing.kind_runs import KEPT, KindRuns
from prophase.sizing.live_sizing import LiveSizing
from prophase.sizing.packed_kinds import BuiltWhenAsked, NarrowRows, narrowed
from prophase.sizing.replays.task_runs import TaskRun, TaskRuns, known_of, task_runs, usable_runs
from prophase.sizing.resources import RESOURCES, SMALLEST_GIB
from prophase.sizing.wider_level import WiderLevels, known_prior
from prophase.stats import Estimate
from prophase.trace.identity.job_identity import (
    Key,
    KeyNames,
    full_name,
    identity_keys,
    rule_of,
    with_identity,
)
from prophase.trace.identity.rule import NO_RULE, IdentityRule

KIND = "sizing.requests"
LAYOUT = 5
#: what is sized at submission, and told of jobs that ask for GPUs
SIZED = ("memory", "cpu", "time")
TOLD = "gpu"
_NUMBERS = ("runs", "now", "tried", "saving", "saved_per_month", "code")
_OOM = {"oom": "value", "oom_low": "low", "oom_high": "high"}


class Recommender:
    """Says what jobs should ask for, and learns from those that end.

    Parameters
    ----------
    risk : float, default=0.01
        Share of runs that may be killed at their first request.
    gate : Gate, optional
        When another request is recommended at all, and whether others' runs may serve as a
        prior.

    Examples
    --------
    >>> jobs = pd.DataFrame({"task": ["align"] * 40, "memory_peak_gib": 2.0, "duration_s": 600.0})
    >>> jobs = jobs.assign(job_id=range(40), request_memory_gib=16.0)
    >>> recommender = learn_recommender(jobs)
    >>> recommender.of("memory", "align").keep
    False
    >>> round(recommender.recommend({"task": "align", "request_memory_gib": 16.0})[0].ladder[0], 2)
    2.3
    """

    def __init__(self, *, risk: float = 0.01, gate: Gate | None = None) -> None:
        self.risk, self.gate = risk, gate or Gate()
        #: resource -> how it was sized, without the tasks
        self.by_resource: dict[str, ResourceRecommendations] = {}
        self.data_hash = ""
        #: resource -> why there is no recommendation
        self.silent: dict[str, str] = {}
        #: whose and which a job is
        self.rule: IdentityRule = NO_RULE
        self._runs: dict[str, MutableMapping[Key, KindRuns]] = {}
        self._live: dict[str, LiveSizing] = {}
        self._by_key: dict[str, MutableMapping[Key, Recommendation]] = {}
        self._stale: dict[str, set[Key]] = defaultdict(set)
        self._tenants: set[str] = set()
        #: resource -> whose runs may stand beside too few of a kind's own
        self._levels: dict[str, WiderLevels] = {}
        #: resource -> how often runs of a tenant came, and as of when a recommendation is
        self._changes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._as_of: defaultdict[str, dict[Key, int]] = defaultdict(dict)

    def learn(
        self,
        jobs: pd.DataFrame,
        *,
        resources: Sequence[str] = (*SIZED, TOLD),
        data_hash: str = "",
        progress: Callable[[str], None] = lambda step: None,
    ) -> None:
        """Learn from a whole history, for each resource that it measures."""
        jobs = with_identity(jobs)
        self.rule, self.data_hash = rule_of(jobs) or NO_RULE, data_hash
        for resource in resources:
            progress(f"sizing {resource}")
            try:
                usable = usable_runs(jobs, resource=resource, cut_off=True)
            except InputError as cause:
                self.silent[resource] = str(cause)
                continue
            found = recommend_runs(usable, risk=self.risk, gate=self.gate, data_hash=data_hash)
            self.by_resource[resource] = replace(found, tasks=[])
            self._by_key[resource] = {one.key: one for one in found.tasks}
            self._tenants |= {key[0] for key in self._by_key[resource]}
            self._take(resource, usable.task_runs("strict"))
        self._stale.clear()
        self._changes.clear()

    def observe(self, jobs: pd.DataFrame) -> int:
        """Learn from jobs that have ended since, without a refit; returns how many told something.

        Parameters
        ----------
        jobs : DataFrame
            Finished jobs that were not learnt from before, with peaks, run times and requests.
        """
        jobs = with_identity(jobs, None if self.rule == NO_RULE else self.rule)
        told: set[str] = set()
        for resource in self.by_resource:
            try:
                runs = task_runs(jobs, track="strict", resource=resource, cut_off=True)
            except InputError:
                continue
            self._take(resource, runs)
            told |= {run.job_id for run in runs.runs}
        return len(told)

    def observed(self, jobs: pd.DataFrame) -> Recommender:
        """Return a recommender that has also learnt from these jobs; this one stays as it is."""
        made = copy.copy(self)
        made._runs = {name: copy.copy(held) for name, held in self._runs.items()}
        made._by_key = {name: copy.copy(held) for name, held in self._by_key.items()}
        made._stale = defaultdict(set, {name: set(held) for name, held in self._stale.items()})
        made._tenants = set(self._tenants)
        made._levels = {
            name: held.over(made._runs.get(name, {})) for name, held in self._levels.items()
        }
        made._changes = defaultdict(Counter, {k: Counter(v) for k, v in self._changes.items()})
        made._as_of = defaultdict(dict, {k: dict(v) for k, v in self._as_of.items()})
        jobs = with_identity(jobs, None if self.rule == NO_RULE else self.rule)
        kinds = {full_name(key) for key in identity_keys(jobs)}
        made._live = {name: live.apart(kinds) for name, live in self._live.items()}
        made.observe(jobs)
        return made

    def _take(self, resource: str, runs: TaskRuns) -> None:
        by_key: defaultdict[Key, list[TaskRun]] = defaultdict(list)
        for run in runs.runs:
            by_key[run.tenant, run.kind].append(run)
        held = self._runs.setdefault(resource, {})
        for key, members in by_key.items():
            new = KindRuns.of(members)
            held[key] = (held[key].and_then(new) if key in held else new).latest(KEPT)
            levels = self._wider(resource)
            levels.add(key)
            self._stale[resource] |= {key, *levels.sharing(key)}
            self._tenants.add(key[0])
            self._changes[resource][key[0]] += 1
        if RESOURCES[resource].kills:
            least = self.gate.sized(RESOURCES[resource]).least
            live = self._live.setdefault(resource, LiveSizing(self.risk, least))
            live.learn([run for run in runs.runs if run.request > 0 or not run.cut_off])

    def of(self, resource: str, task: str | Key) -> Recommendation | None:
        """Return the recommendation for tenant and kind, or for a name that means one of them."""
        key = KeyNames(self.keys(resource)).find(task) if isinstance(task, str) else task
        held = self._by_key.get(resource, {})
        runs = self._runs.get(resource, {})
        if key is None:
            return None
        if key in self._stale[resource] or self._others_changed(resource, key):
            self._stale[resource].discard(key)
            held[key] = recommended(
                full_name(key), runs[key], self.risk, self.gate, RESOURCES[resource],
                self._wider(resource),
            )  # fmt: skip
            self._as_of[resource][key] = self._changes[resource][key[0]]
        return held.get(key)

    def _others_changed(self, resource: str, key: Key) -> bool:
        """Say whether other kinds of its tenant tell more of a kind of few runs by now."""
        past = self._by_key.get(resource, {}).get(key)
        if past is None or not self.gate.few(past.runs):
            return False
        return self._as_of[resource].get(key, 0) != self._changes[resource][key[0]]

    def _wider(self, resource: str) -> WiderLevels:
        if resource not in self._levels:
            self._levels[resource] = WiderLevels(self.gate.prior, self._runs.get(resource, {}))
        return self._levels[resource]

    def keys(self, resource: str) -> list[Key]:
        """Return whose and which kinds have measured a resource."""
        held, runs = self._by_key.get(resource, {}), self._runs.get(resource, {})
        return list(dict.fromkeys([*held, *runs]))

    def recommendations(self, resource: str) -> ResourceRecommendations | None:
        """Return what each kind should ask for; None if the resource was not learnt."""
        if resource not in self.by_resource:
            return None
        found = (self.of(resource, key) for key in self.keys(resource))
        return replace(self.by_resource[resource], tasks=[one for one in found if one is not None])

    def kind_request(self, resource: str, key: Key) -> KindRequest | None:
        """Return what all jobs of a kind are recommended; None if all their requests stay."""
        return kind_request(RESOURCES[resource], self._evidence(resource, key), full_name(key))

    def _evidence(self, resource: str, key: Key) -> KindEvidence:
        past = self.of(resource, key)
        return KindEvidence(
            past, self._live.get(resource), self.risk, self.gate,
            self._wider(resource).beside(key) if past is None else None,
        )  # fmt: skip

    def key_of(self, job: JsonMapping) -> Key:
        """Return whose and which a job is, as the history has it."""
        return self.rule.key_among(job, self._tenants)

    def recommend(
        self, job: JsonMapping, resources: Sequence[str] | None = None
    ) -> list[RequestRecommendation]:
        """Return what a job should ask for, a ladder per resource.

        Parameters
        ----------
        job : mapping
            Columns of the job table that are known before it runs.
        resources : sequence of str, optional
            Those asked for; all that were learnt if not given.
        """
        key = self.key_of(job)
        task = full_name(key)
        found = []
        for name in self.by_resource if resources is None else resources:
            if name not in self.by_resource:
                continue
            what = RESOURCES[name]
            asked = job.get(what.request_column)
            if name == TOLD and not asked:
                continue
            evidence = self._evidence(name, key)
            one = requested(what, evidence, task, asked, partial(known_of, job, what, self.rule))
            if evidence.past is None and not key[0] and self.rule.tenant:
                named = " and ".join(self.rule.whose(job))
                one = RequestRecommendation(
                    one.resource, one.column, asked, (),
                    f"it does not say whose it is ({named}), and nothing is taken from others",
                    task,
                )  # fmt: skip
            if name == TOLD and one.change and one.ladder[0] < 1 and self.gate.gpu_parts:
                one = replace(one, part=part_of(one.ladder[0], self.gate.gpu_parts))
            found.append(one)
        return found

    def save(self, path: Path | str) -> str:
        """Write all to one file and return its checksum."""
        arrays: dict[str, Any] = {}
        parts, live = {}, {}
        for name, found in self.by_resource.items():
            tasks = [self.of(name, key) for key in list(self._runs.get(name, {}))]
            known = [one for one in tasks if one is not None]
            parts[name] = _packed(found, known)
            kept = list(self._runs.get(name, {}).values())
            arrays[f"{name}.runs"] = np.concatenate([one.values for one in kept], axis=1)
            arrays[f"{name}.counts"] = np.array([len(one) for one in kept], np.int64)
            if name in self._live:
                packed = self._live[name].packed()
                live[name] = dict(packed.meta)
                arrays |= {f"{name}.live.{part}": held for part, held in packed.arrays.items()}
        return save_model(
            path,
            kind=KIND,
            meta=finite({
                "layout": LAYOUT,
                "risk": self.risk,
                "gate": [self.gate.fewest_runs, self.gate.least_saving, self.gate.most_oom],
                "prior": self.gate.prior,
                "min_memory_gib": self.gate.min_memory_gib,
                "gpu_parts": [
                    list(astuple(one)) for one in self.gate.gpu_parts
                ],
                "resources": parts,
                "live": live,
                "silent": dict(self.silent),
                "identity": self.rule.to_dict(),
            }),
            arrays=arrays,
            data_hash=self.data_hash,
        )  # fmt: skip

    @staticmethod
    def load(path: Path | str) -> Recommender:
        """Return the recommender of a file."""
        held = load_model(path, kind=KIND)
        if held.meta.get("layout") != LAYOUT:
            raise ModelFileError(
                f"{path}: was written by Prophase {held.version} in another layout. Make them "
                "again with: prophase learn"
            )
        try:
            return _restored(held.meta, held.arrays, held.data_hash)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as cause:
            raise ModelFileError(
                f"{path}: the recommendations cannot be restored: {cause!r}. Make them again "
                "with: prophase learn"
            ) from cause


def learn_recommender(
    jobs: pd.DataFrame,
    *,
    risk: float = 0.01,
    gate: Gate | None = None,
    resources: Sequence[str] = (*SIZED, TOLD),
    data_hash: str = "",
    progress: Callable[[str], None] = lambda step: None,
) -> Recommender:
    """Return a recommender that has learnt from a trace, for each resource that it measures."""
    made = Recommender(risk=risk, gate=gate)
    made.learn(jobs, resources=resources, data_hash=data_hash, progress=progress)
    return made


def _restored(meta: JsonMapping, arrays: Mapping[str, Any], data_hash: str) -> Recommender:
    runs, saving, most = meta["gate"]
    grants = tuple(GpuGrant(float(one[0]), str(one[1]), *one[2:]) for one in meta["gpu_parts"])
    least = float(meta.get("min_memory_gib", SMALLEST_GIB))
    gate = Gate(runs, saving, most, known_prior(str(meta["prior"])), grants, least)
    made = Recommender(risk=float(meta["risk"]), gate=gate)
    made.data_hash, made.silent = data_hash, dict(meta["silent"])
    made.rule = IdentityRule.from_dict(meta["identity"])
    for name, one in meta["resources"].items():
        made.by_resource[name] = _header(name, one, made.rule)
        packed = _PackedKinds(one, arrays[f"{name}.runs"], arrays[f"{name}.counts"])
        places = {key: place for place, key in enumerate(packed.keys)}
        made._by_key[name] = BuiltWhenAsked(places, packed.recommendation)
        made._runs[name] = BuiltWhenAsked(places, packed.runs)
        made._tenants |= {key[0] for key in packed.keys}
    for name, one in meta["live"].items():
        begin = f"{name}.live."
        parts = {k.removeprefix(begin): v for k, v in arrays.items() if k.startswith(begin)}
        made._live[name] = LiveSizing.unpacked(one, parts)
    return made


def _packed(found: ResourceRecommendations, tasks: Sequence[Recommendation]) -> dict[str, object]:
    whys = {why: place for place, why in enumerate(dict.fromkeys(one.why for one in tasks))}
    return {
        "risk": found.risk,
        "span_h": found.span_h,
        "left_out": dict(found.left_out),
        "keys": [list(one.key) for one in tasks],
        "whys": list(whys),
        "why": [whys[one.why] for one in tasks],
        "keep": [one.keep for one in tasks],
        "ladders": [list(one.ladder) for one in tasks],
        # JSON has no NaN
        **{name: [finite(getattr(one, name)) for one in tasks] for name in _NUMBERS},
        **{name: [finite(getattr(one.oom, end)) for one in tasks] for name, end in _OOM.items()},
    }


def _header(resource: str, held: JsonMapping, rule: IdentityRule) -> ResourceRecommendations:
    unit = RESOURCES[resource].unit
    left_out = {str(k): int(v) for k, v in held["left_out"].items()}
    return ResourceRecommendations(
        [], float(held["risk"]), unit, resource, left_out, float(held["span_h"]), rule=rule
    )


class _PackedKinds:
    """The saved runs and recommendations of all kinds of one resource."""

    def __init__(self, held: JsonMapping, runs: Any, counts: Any) -> None:
        tenants: dict[str, str] = {}
        self.keys: list[Key] = [
            (tenants.setdefault(tenant, tenant), kind) for tenant, kind in held["keys"]
        ]
        self._rows = NarrowRows(runs, counts)
        self._whys = [str(one) for one in held["whys"]]
        self._why = np.array(held["why"], np.int32)
        self._keep = np.array(held["keep"], np.bool_)
        self._ladders = np.array(held["ladders"], np.float64).reshape(len(self.keys), -1)
        self._numbers = {
            name: narrowed(np.array([_number(one) for one in held[name]], np.float64))
            for name in (*_NUMBERS, *_OOM)
        }
        if not len(self.keys) == len(counts) == len(self._why) == len(self._keep):
            raise ValueError("kinds and their runs differ in number")

    def runs(self, place: int) -> KindRuns:
        """Return the runs of the kind at a place."""
        return KindRuns(self._rows.of(place), *self.keys[place])

    def recommendation(self, place: int) -> Recommendation:
        """Return the recommendation of the kind at a place."""
        tenant, kind = self.keys[place]
        one = {name: float(held[place]) for name, held in self._numbers.items()}
        return Recommendation(
            full_name((tenant, kind)), int(one["runs"]), one["now"],
            tuple(self._ladders[place].tolist()),
            Estimate(one["oom"], one["oom_low"], one["oom_high"]),
            int(one["tried"]), one["saving"], one["saved_per_month"],
            self._whys[self._why[place]], bool(self._keep[place]),
            tenant=tenant, kind=kind, code=one["code"],
        )  # fmt: skip


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
