"""What a sweep varies, and the cells that follow from it."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from prophase.errors import FormatError, ParameterError, not_among, storage_error
from prophase.sim.request_variants import ASKED, SHARING
from prophase.sim.rules.rule_set import check_rule
from prophase.sim.simulation import replay_keywords
from prophase.sim.sweep.resampled_traces import AS_RECORDED
from prophase.version import __version__

#: keys of a plan in a file, beside [policy]
_KEYS = ("cluster", "load", "sizing", "sharing", "seeds", "block_h", "policy")
#: arguments of ``simulate`` that are not policies
_OTHER = {"workload", "cluster", "seed", "leave_out_unfit", "order_options"}
_STARTING = {"order": ("fifo",), "place": ("best_fit",), "queue": ("skip",)}

PolicyValue = str | float | bool


@dataclass(frozen=True)
class Cell:
    """One replay of a sweep: a policy, a cluster, a load, requests and a seed."""

    policy: tuple[tuple[str, PolicyValue], ...]
    cluster: str
    load: float
    seed: int
    sizing: str = ASKED
    sharing: str = SHARING[0]

    def key(self, data_hash: str, requests: str = "") -> str:
        """Return the name under which the result is stored: data, settings and version.

        ``requests`` is the hash of what jobs ask for, if not what the trace says.
        """
        settings: list[Any] = [
            data_hash, __version__, self.policy, self.cluster, self.load, self.seed,
        ]  # fmt: skip
        if (self.sizing, self.sharing) != (ASKED, SHARING[0]):
            settings += [self.sizing, requests, self.sharing]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:24]

    @property
    def axes(self) -> dict[str, PolicyValue]:
        """Return the settings as columns; seed 0 is the trace as recorded."""
        return {
            **dict(self.policy),
            "sizing": self.sizing,
            "sharing": self.sharing,
            "cluster": self.cluster,
            "load": self.load,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class SweepPlan:
    """Every combination of policies, requests, clusters and loads, over the same seeds.

    Parameters
    ----------
    clusters : sequence of str
        As ``cluster_named`` reads them, e.g. ``("50x8", "60x8")`` or ``("own", "own*0.8")``.
    policies : mapping
        Keyword of ``simulate`` -> values to try. Order, place and queue start from fifo,
        best_fit and skip.
    loads : sequence of float
        Jobs per day against the trace.
    sizings : sequence of str
        What jobs ask for: ``"asked"`` as the trace says, or a name that ``run_sweep`` is given.
    sharing : sequence of str
        ``"on"``: jobs share GPUs as they ask to; ``"off"``: every fraction takes a whole GPU.
    seeds : int, default=10
        Resampled traces per combination; the trace as recorded is replayed as well.
    block_h : float, optional
        Hours that stay together when a trace is resampled; days that hold the backlog if not given.

    Examples
    --------
    >>> plan = SweepPlan(["4x8", "5x8"], {"order": ["fifo", "shortest"]}, seeds=10)
    >>> plan.combinations, len(list(plan.cells()))
    (4, 44)
    """

    clusters: Sequence[str] = ("own",)
    policies: Mapping[str, Sequence[PolicyValue]] = field(default_factory=dict)
    loads: Sequence[float] = (1.0,)
    sizings: Sequence[str] = (ASKED,)
    sharing: Sequence[str] = (SHARING[0],)
    seeds: int = 10
    block_h: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "policies", {**_STARTING, **self.policies})
        known = policy_keywords()
        for name in self.policies:
            if name not in known:
                said = f"{name!r} is no setting of a replay."
                raise ParameterError(not_among(said, name, known))
        for name, values in {
            "cluster": self.clusters,
            "load": self.loads,
            "sizing": self.sizings,
            "sharing": self.sharing,
            **self.policies,
        }.items():
            if isinstance(values, str) or not len(values):
                raise ParameterError(f"{name}: the list of values is empty. Give at least one.")
            if any(value == "" for value in values):
                raise ParameterError(f"{name}: one value is empty. Remove the extra comma.")
            for value in values:
                check_rule(name, value)
            if len(set(values)) < len(values):
                raise ParameterError(f"{name}: a value stands there twice: {_listed(values)}.")
        for word in self.sharing:
            if word not in SHARING:
                raise ParameterError(f"sharing is {word!r}, but is on or off.")
        for load in self.loads:
            if isinstance(load, bool) or not isinstance(load, int | float) or not load > 0:
                raise ParameterError(f"load is {load!r}, but is a number above 0, such as 0.8.")
        if isinstance(self.seeds, bool) or not isinstance(self.seeds, int) or self.seeds < 0:
            raise ParameterError(f"seeds is {self.seeds!r}, but is a whole number from 0; say 10.")

    @property
    def policy_settings(self) -> list[tuple[tuple[str, PolicyValue], ...]]:
        """Return every combination of policy values."""
        return [
            tuple(zip(self.policies, values, strict=True))
            for values in product(*self.policies.values())
        ]

    @property
    def combinations(self) -> int:
        """Policies x requests x clusters x loads."""
        requests = len(self.sizings) * len(self.sharing)
        return len(self.policy_settings) * requests * len(self.clusters) * len(self.loads)

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the columns that name a combination; requests only if they are varied."""
        varied = [("sizing", self.sizings, ASKED), ("sharing", self.sharing, SHARING[0])]
        requests = [name for name, values, usual in varied if list(values) != [usual]]
        return (*self.policies, *requests, "cluster", "load")

    def cells(self) -> Iterator[Cell]:
        """Yield every cell; those that replay the same jobs follow each other."""
        for load, seed in product(self.loads, range(AS_RECORDED, self.seeds + 1)):
            for sizing, sharing, cluster, policy in product(
                self.sizings, self.sharing, self.clusters, self.policy_settings
            ):
                yield Cell(policy, cluster, float(load), seed, sizing, sharing)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a file would hold it."""
        return {
            "cluster": list(self.clusters),
            "load": list(self.loads),
            "sizing": list(self.sizings),
            "sharing": list(self.sharing),
            "seeds": self.seeds,
            "block_h": self.block_h,
            "policy": {name: list(values) for name, values in self.policies.items()},
        }


def read_plan(path: Path) -> dict[str, Any]:
    """Return the arguments of a ``SweepPlan`` from a TOML file.

    The file has ``cluster``, ``load``, ``sizing``, ``sharing`` (lists or single values),
    ``seeds``, ``block_h``, and a table ``[policy]`` with lists such as
    ``order = ["fifo", "shortest"]``.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise FormatError(f"{path}: is not valid TOML: {cause}.") from cause
    except OSError as cause:
        raise storage_error(cause, path) from cause
    for name in raw:
        if name not in _KEYS:
            raise ParameterError(not_among(f"{path}: {name!r} is unknown.", name, _KEYS))
    policy = raw.get("policy", {})
    if not isinstance(policy, dict):
        raise ParameterError(f"{path}: policy is a table of lists: [policy], then order = [...].")
    found: dict[str, Any] = {"policies": {name: _list(value) for name, value in policy.items()}}
    lists = {"cluster": "clusters", "load": "loads", "sizing": "sizings", "sharing": "sharing"}
    for name, field_name in lists.items():
        if name in raw:
            found[field_name] = _list(raw[name])
    return found | {name: raw[name] for name in ("seeds", "block_h") if name in raw}


def policy_keywords() -> list[str]:
    """Return the keywords of ``simulate`` that a number or a word can set."""
    return [name for name in replay_keywords() if name not in _OTHER]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))
