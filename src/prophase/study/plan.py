"""The plan of a study: trace, cluster, limits and every seed; checked before any work begins."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from prophase import units
from prophase.errors import FormatError, MissingFileError, ParameterError, not_among
from prophase.json_types import JsonMapping, JsonObject
from prophase.sizing.resources import SMALLEST_GIB
from prophase.sizing.wider_level import PRIORS, Prior
from prophase.study.proof.candidate import PROVABLE
from prophase.study.proof.verdict import Limits
from prophase.trace.row_rules import keep_rules
from prophase.trace.schema import JOBS
from prophase.workers import parse_workers

#: settings that are shares, and may be written as percentages
_SHARES = (
    "max_oom", "min_saving", "max_longer_wait", "risk", "advise_above", "test_share",
    "kills_after", "max_bad",
)  # fmt: skip
#: tables of a plan file, for readers; their keys are those of the plan
_TABLES = ("import", "limits", "predict", "size", "replay", "schedule", "next")


@dataclass(frozen=True)
class StudyPlan:
    """What a study does; every default may be left as it is.

    Attributes
    ----------
    trace : str
        A workspace, or a file or folder of a trace.
    source, options, keep, max_bad
        Reader of raw files, its settings, rules that leave jobs out, share of damaged rows.
    cluster, prices : str, optional
        Node list or short form; price file.
    seed : int
        Of everything random.
    most_jobs : int
        Of a longer trace only the latest so many jobs are learnt from and replayed.
    resource : str
        What is sized; ``auto``: memory, else GPUs, else cores, whichever the trace measures.
    kind : tuple of str
        Columns that name what a recommendation is for; chosen by a back-test if empty.
    steps : tuple of str
        Some of the steps; all if empty.
    engine : str, optional
        ``duckdb`` or ``spark``, or the address of a Spark master such as ``spark://host:7077``,
        for the import of raw files.
    workers : str
        Processes for replays, or the address of a Dask scheduler such as ``dask://host:8786``.
    """

    trace: str
    source: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    max_bad: float = 0.01
    engine: str | None = None
    cluster: str | None = None
    prices: str | None = None
    seed: int = 0
    workers: str = "1"
    most_jobs: int = 50_000
    steps: tuple[str, ...] = ()
    # limits of the verdict
    max_oom: float = 0.01
    min_saving: float = 0.0
    max_longer_wait: float | None = None
    # predictions
    methods: tuple[str, ...] = ("default", "backoff-median", "user-median", "global-median")
    targets: tuple[str, ...] = ("duration_s", "memory_peak_gib")
    test_share: float = 0.25
    # sizing
    resource: str = "auto"
    kind: tuple[str, ...] = ()
    risk: float = 0.01
    min_runs: int = 10
    advise_above: float = 0.0
    prior: Prior = "none"
    min_memory_gib: float = SMALLEST_GIB
    # replays
    order: str = "fifo"
    place: str = "best_fit"
    queue: str = "skip"
    by: str = "class"
    seeds: int = 10
    splits: int = 10
    kills_after: float = 1.0
    # what to measure next
    measure: int = 10

    def __post_init__(self) -> None:
        self.limits  # noqa: B018  # refuses limits out of range before any work
        parse_workers(self.workers)
        for name in ("seeds", "splits", "measure"):
            if getattr(self, name) < 0:
                raise ParameterError(f"plan: {name} is {getattr(self, name)}: give 0 or more.")
        if self.most_jobs < 100:
            raise ParameterError(f"plan: most_jobs is {self.most_jobs}: give at least 100.")

    @property
    def limits(self) -> Limits:
        """What the verdict is about."""
        return Limits(self.max_oom, self.min_saving, self.max_longer_wait)

    @property
    def policy(self) -> JsonObject:
        """Settings of replays."""
        return {"order": self.order, "place": self.place, "queue": self.queue}

    def to_dict(self) -> JsonObject:
        """Return the plan as it would be written, defaults included."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    def changed(self, **values: Any) -> Self:
        """Return the plan with some settings replaced; None leaves one as it is."""
        return replace(self, **{name: value for name, value in values.items() if value is not None})


#: setting -> table of a plan file that a reader looks for it in; others stand at the top
_PLACES = {
    **dict.fromkeys(("source", "options", "keep", "max_bad", "engine"), "import"),
    **dict.fromkeys(("max_oom", "min_saving", "max_longer_wait"), "limits"),
    **dict.fromkeys(("methods", "targets", "test_share"), "predict"),
    **dict.fromkeys(
        ("resource", "kind", "risk", "min_runs", "advise_above", "prior", "min_memory_gib"), "size"
    ),
    **dict.fromkeys(("order", "place", "queue", "by", "seeds", "splits", "kills_after"), "replay"),
    "measure": "next",
}


def plan_text(plan: StudyPlan) -> str:
    """Return a plan as the file that :func:`read_plan` reads, with every setting.

    Examples
    --------
    >>> print(plan_text(StudyPlan("ws")).splitlines()[0])
    trace = "ws"
    """
    tables: dict[str, list[str]] = {"": [], **{name: [] for name in _TABLES}}
    for name, value in plan.to_dict().items():
        unset = value is None or value == {}
        line = f"# {name} =" if unset else f"{name} = {_written(value)}"
        tables[_PLACES.get(name, "")].append(line)
    parts = ["\n".join(tables.pop(""))]
    parts += ["\n".join([f"[{name}]", *lines]) for name, lines in tables.items() if lines]
    return "\n\n".join(parts) + "\n"


def _written(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value, ensure_ascii=False)


def read_plan(path: str | Path) -> StudyPlan:
    """Read a plan file.

    Keys are those of :class:`StudyPlan`, at the top or in the tables ``import``, ``limits``,
    ``predict``, ``size``, ``replay``, ``schedule`` and ``next``; shares may be percentages; paths
    are relative to the file.
    """
    source = Path(path)
    try:
        found = tomllib.loads(source.read_text(encoding="utf-8"))
    except FileNotFoundError as cause:
        raise MissingFileError(f"{source}: there is no such plan.") from cause
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        raise FormatError(f"{source}: is not TOML ({cause}). Correct that line.") from cause
    values: JsonObject = {}
    for name, value in found.items():
        inside = value if name in _TABLES else {name: value}
        if not isinstance(inside, Mapping):
            raise FormatError(f"{source}: {name} is a table of settings: write [{name}].")
        values |= inside
    return plan_of(values, name=str(source), folder=source.parent)


def plan_of(values: JsonMapping, *, name: str = "plan", folder: Path = Path()) -> StudyPlan:
    """Return the plan of settings as they stand in a file.

    Examples
    --------
    >>> plan_of({"trace": "ws", "max_oom": "2%"}).max_oom
    0.02
    """
    known = {one.name: one for one in fields(StudyPlan)}
    read: JsonObject = {}
    for key, value in values.items():
        if key not in known:
            raise FormatError(not_among(f"{name}: {key!r} is no setting.", key, [*known, *_TABLES]))
        read[key] = _value(key, value, name, folder)
    if "trace" not in read:
        raise FormatError(f'{name}: names no trace. Write trace = "my-workspace".')
    return StudyPlan(**read)


def _value(key: str, value: Any, name: str, folder: Path) -> Any:
    where = f"{name}: {key}"
    if key in _SHARES:
        return units.parse_share(value, where=where, error=FormatError)
    if key == "min_memory_gib":
        return units.parse_memory(value, g_is="binary", bare="GiB", where=where, error=FormatError)
    default = next(one for one in fields(StudyPlan) if one.name == key).default
    if key in ("trace", "prices", "cluster"):
        if not isinstance(value, str):
            raise FormatError(f"{where} is {value!r}, but is a text.")
        below = folder / value
        # a cluster may be written in short, which is no path
        return str(below) if key != "cluster" or below.exists() else value
    if isinstance(default, tuple):
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise FormatError(f"{where} is {value!r}, but is a list of texts.")
        return tuple(value)
    if isinstance(default, int) and not isinstance(default, bool):
        if isinstance(value, bool) or not isinstance(value, int):
            raise FormatError(f"{where} is {value!r}, but is a whole number.")
        return value
    if key == "options":
        if not isinstance(value, Mapping):
            raise FormatError(f"{where} is {value!r}, but is a table of names and values.")
        texts = {str(inner): str(one) for inner, one in value.items()}
        # a mapping lies beside the plan, as the trace does
        return {
            inner: str(folder / one) if (folder / one).is_file() else one
            for inner, one in texts.items()
        }
    if key == "workers":
        return str(value)
    if not isinstance(value, str):
        raise FormatError(f"{where} is {value!r}, but is a text.")
    return value


def check_plan(plan: StudyPlan) -> None:
    """Raise ParameterError at the first setting that names nothing or is out of its range.

    Examples
    --------
    >>> check_plan(StudyPlan("ws", queue="skipp"))
    Traceback (most recent call last):
        ...
    prophase.errors.ParameterError: plan: there is no queue 'skipp'. Did you mean 'skip'? ...
    """
    usual = StudyPlan(plan.trace)
    for setting in ("order", "place", "queue", "methods", "targets", "resource", "prior"):
        value = getattr(plan, setting)
        if value == getattr(usual, setting):
            continue
        names = [value] if isinstance(value, str) else value
        if not names:
            raise ParameterError(f"plan: {setting} is empty: name at least one.")
        known = list(_known(setting))
        for name in names:
            if name not in known:
                what = setting.removesuffix("s")
                raise ParameterError(not_among(f"plan: there is no {what} {name!r}.", name, known))
    for setting, low in (("seed", 0), ("min_runs", 1)):
        if getattr(plan, setting) < low:
            said = f"plan: {setting} is {getattr(plan, setting)}: give {low} or more."
            raise ParameterError(said)
    for setting, high in (("test_share", 0.99), ("risk", 0.5), ("kills_after", 1.0)):
        value = getattr(plan, setting)
        if not 0 < value <= high:
            raise ParameterError(
                f"plan: {setting} is {value:g}: give a share above 0, up to {high}."
            )
    keep_rules(plan.keep)
    parse_workers(plan.workers)


def check_columns(plan: StudyPlan, columns: Iterable[str]) -> None:
    """Refuse classes and kinds by columns that the jobs do not have."""
    from prophase.sim.measures.job_classes import BUILT_IN

    held = list(columns)
    asked = [("by", plan.by, [*BUILT_IN, *held]), *(("kind", one, held) for one in plan.kind)]
    for setting, name, known in asked:
        if name not in known and name != "task":
            said = f"plan: {setting} names {name!r}, which is no column of the jobs."
            raise ParameterError(not_among(said, name, known, most=20))


def _known(setting: str) -> Iterable[str]:
    """Return what a setting may name; looked up only if it names something unusual."""
    if setting in ("order", "place"):
        from prophase.sim.policies import order_policies, place_policies

        return order_policies() if setting == "order" else place_policies()
    if setting == "queue":
        from prophase.sim.simulation import QUEUES

        return QUEUES
    if setting == "methods":
        from prophase.profile.predict.methods import METHODS

        return ("default", *METHODS)
    if setting == "targets":
        return (column.name for column in JOBS if column.kind == "number")
    return PRIORS if setting == "prior" else ("auto", *PROVABLE)
