"""What each kind of job asks for, by resource and attempt: all that an export needs to know."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import yaml

from prophase import units
from prophase.errors import ParameterError, not_among
from prophase.plural import counted
from prophase.sizing.kind_recommendation import ResourceRecommendations
from prophase.trace.identity.job_identity import Key

#: what can be asked for -> how it is called in a sentence
RESOURCE_NAMES = {
    "memory_gib": "memory",
    "cpu_cores": "CPU cores",
    "gpus": "GPUs",
    "gpu_memory_gib": "GPU memory",
    "time_limit_s": "the time limit",
}
#: resource of a recommendation -> (name here, its unit in ours)
_NAMES_HERE = {
    "memory": ("memory_gib", 1.0),
    "cpu": ("cpu_cores", 1.0),
    "gpu": ("gpus", 1.0),
    "gpu-memory": ("gpu_memory_gib", 1.0),
    "time": ("time_limit_s", 3600.0),
}
#: stands in the name of a kind for what differs from run to run
_FOLDED = "#"


@dataclass(frozen=True)
class KindRequests:
    """What the jobs of one kind should ask for from now on.

    Attributes
    ----------
    kind : str
        Which jobs; ``#`` in it stands for numbers that differ from run to run.
    ladders : mapping
        Requests of the 1st, 2nd ... attempt, by resource: ``memory_gib``, ``cpu_cores``, ``gpus``,
        ``gpu_memory_gib``, ``time_limit_s``. What is not in it stays as it is.
    tenant : str
        Whose jobs: the namespace or team; empty if unknown.
    workload_kind : str
        What Kubernetes calls the workload (``CronJob``, ``RayJob`` ...); empty if unknown.
    why : str
        The reason, in one line.

    Examples
    --------
    >>> align = KindRequests("align", {"memory_gib": (2.0, 4.0), "cpu_cores": (1.0,)})
    >>> align.attempts, align.at("memory_gib", 3), align.at("cpu_cores", 2)
    (2, 4.0, 1.0)
    """

    kind: str
    ladders: Mapping[str, tuple[float, ...]]
    tenant: str = ""
    workload_kind: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        for resource, ladder in self.ladders.items():
            if resource not in RESOURCE_NAMES:
                said = f"{self.kind!r} asks for {resource!r}, which is no resource."
                raise ParameterError(not_among(said, resource, RESOURCE_NAMES))
            if not ladder or not all(math.isfinite(rung) and rung > 0 for rung in ladder):
                raise ParameterError(
                    f"{self.kind!r} asks for {ladder} of {resource}; write a number above 0 for "
                    "each attempt."
                )

    @property
    def attempts(self) -> int:
        """How many attempts ask for something of their own."""
        return max((len(ladder) for ladder in self.ladders.values()), default=0)

    def at(self, resource: str, attempt: int) -> float:
        """Return what an attempt asks for; later ones ask for what the last of the ladder does."""
        ladder = self.ladders[resource]
        return ladder[min(attempt, len(ladder)) - 1]

    def written(self, resource: str, write: Callable[[float], str]) -> list[str]:
        """Return the requests of all attempts of the kind as an engine writes them.

        Examples
        --------
        >>> asked = KindRequests("align", {"memory_gib": (2.0, 4.0), "time_limit_s": (60.0,)})
        >>> asked.written("time_limit_s", lambda seconds: f"{seconds:.0f}s")
        ['60s', '60s']
        """
        return [write(self.at(resource, attempt)) for attempt in range(1, self.attempts + 1)]

    @property
    def comment(self) -> str:
        """Which kind it is, and why it asks for something else, in one line."""
        whose = f"{self.tenant}/" if self.tenant else ""
        return " ".join(f"{whose}{self.kind}{': ' if self.why else ''}{self.why}".split())

    def pattern(self, any_text: str, escape: Callable[[str], str] = str) -> str:
        """Return the name with ``any_text`` where runs differ.

        Examples
        --------
        >>> KindRequests("train_#", {}).pattern(".*")
        'train_.*'
        """
        return any_text.join(escape(part) for part in self.kind.split(_FOLDED))


def kind_requests(*found: ResourceRecommendations) -> list[KindRequests]:
    """Return the recommendations of one or more resources, a kind each.

    Tasks that keep their request are left out, and so is a resource that a task keeps.
    """
    ladders: dict[Key, dict[str, tuple[float, ...]]] = {}
    reasons: dict[Key, list[str]] = {}
    for of_one in found:
        name, factor = _NAMES_HERE[of_one.resource]
        for one in of_one.tasks:
            if not one.keep:
                asked = tuple(rung * factor for rung in one.ladder)
                ladders.setdefault(one.key, {})[name] = asked
                said = one.why if len(found) == 1 else f"{RESOURCE_NAMES[name]}: {one.why}"
                reasons.setdefault(one.key, []).append(said)
    return [
        KindRequests(kind, asked, tenant, why="; ".join(reasons[tenant, kind]))
        for (tenant, kind), asked in ladders.items()
    ]


@dataclass
class LeftOut:
    """What an engine cannot express, counted while its file is written."""

    engine: str
    kinds: dict[str, set[str]] = field(default_factory=dict)
    #: whether anything could be expressed
    wrote: bool = False

    def note(self, what: str, kind: KindRequests) -> None:
        """Remember that a kind lost something."""
        self.kinds.setdefault(what, set()).add(f"{kind.tenant}/{kind.kind}")

    def expressible(
        self,
        asked: Iterable[KindRequests],
        resources: Iterable[str],
        *,
        attempts: bool = True,
        gpu_shares: bool = False,
        patterns: bool = True,
    ) -> list[KindRequests]:
        """Return the kinds with what the engine can be asked for; the rest is remembered.

        ``attempts`` says that a retry may ask for more, ``gpu_shares`` that 0.5 GPUs can be had,
        ``patterns`` that one entry may stand for many names.
        """
        known, kept = set(resources), []
        for one in asked:
            if not patterns and _FOLDED in one.kind:
                self.note(f"names with numbers that differ: {self.engine} has no patterns", one)
                continue
            ladders = {name: rungs for name, rungs in one.ladders.items() if name in known}
            for name in one.ladders.keys() - known:
                self.note(f"{RESOURCE_NAMES[name]}: {self.engine} has no request for it", one)
            if not attempts and any(len(set(rungs)) > 1 for rungs in ladders.values()):
                self.note(f"later attempts: {self.engine} retries with the same request", one)
            if not gpu_shares and any(rung % 1 for rung in ladders.get("gpus", ())):
                self.note("shares of a GPU: whole ones are asked for", one)
            if ladders:
                kept.append(replace(one, ladders=ladders))
        self.wrote = bool(kept)
        return kept

    def sentences(self) -> list[str]:
        """Return what was left out, and of how many kinds."""
        return [
            f"Left out, {what} ({counted(len(kinds), 'kind')})."
            for what, kinds in self.kinds.items()
        ]


def yaml_text(document: object, *, flow: bool | None = False) -> str:
    """Write YAML in the order of the document; ``flow=None`` gives the innermost parts one line."""
    return str(yaml.safe_dump(document, sort_keys=False, default_flow_style=flow, width=10_000))


def mebibytes(gib: float) -> str:
    """Write memory as Kubernetes reads it.

    Examples
    --------
    >>> mebibytes(1.5)
    '1536Mi'
    """
    return f"{units.whole_mib(gib)}Mi"


def millicores(cores: float) -> str:
    """Write cores as Kubernetes reads them, whole ones as such.

    Examples
    --------
    >>> millicores(2.0), millicores(0.2501)
    ('2', '251m')
    """
    thousandths = max(1, math.ceil(1000 * cores - 1e-6))
    return str(thousandths // 1000) if thousandths % 1000 == 0 else f"{thousandths}m"


def whole(amount: float) -> str:
    """Write the fewest whole ones that hold an amount.

    Examples
    --------
    >>> whole(0.4), whole(2.0)
    ('1', '2')
    """
    return str(max(1, math.ceil(amount - 1e-9)))


def dns_name(kind: str) -> str:
    """Return a name as Kubernetes allows it.

    Examples
    --------
    >>> dns_name("NFCORE_MAG:MAG:MEGAHIT")
    'nfcore-mag-mag-megahit'
    """
    name = re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")
    return name[-63:].strip("-") or "task"
