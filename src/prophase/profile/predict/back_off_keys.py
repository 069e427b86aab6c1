"""Which jobs are alike: keys of submit-time columns, from the finest to the coarsest.

A *level* is a set of columns; two jobs share its key if they agree in all of them. The
levels are chosen from the columns a history has, in the order
group + task -> name + user -> group -> user + task + request -> ... -> user -> workload -> all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Array, Floats
from prophase.plural import listed
from prophase.profile.predict.submit_columns import Columns, is_number, numbers

Keys = NDArray[np.uint64]
#: seen: the same kind of job finished before. partly: same owner or request. new: neither.
Closeness = Literal["seen", "partly", "new"]

_REQUEST = (
    "instances",
    "gang_size",
    "request_cpu_cores",
    "request_memory_gib",
    "request_gpus",
    "gpu_type",
    "time_limit_s",
)
#: these are hashed by so many digits: 93.13 GiB of a script is 100 GB of a log
_DIGITS = 3
_ROUNDED = frozenset({"request_cpu_cores", "request_memory_gib", "time_limit_s"})
#: stands for the job's name with its numbers folded, where names themselves hardly recur
FOLDED = "folded_name"
_WORDS = ("name", "user", "group", "queue", "workload", "task")
#: attributes that are named one by one
_NAMED = 2
#: columns of a level, whether the request belongs to it, and how close a match it is
_ORDER: tuple[tuple[tuple[str, ...], bool, Closeness], ...] = (
    (("name", FOLDED, "user", "group", "queue", "workload", "task"), True, "seen"),
    (("group", "task"), False, "seen"),
    (("group",), True, "seen"),
    (("name", "user"), False, "seen"),
    ((FOLDED, "user", "task"), True, "seen"),
    ((FOLDED, "user"), False, "seen"),
    ((FOLDED,), False, "seen"),
    # an account, where a source has no narrower group: wider than the names of its jobs
    (("group",), False, "partly"),
    (("user", "task"), True, "partly"),
    (("user", "workload"), True, "partly"),
    (("user",), True, "partly"),
    (("user", "time_limit_s"), False, "partly"),
    (("group", "time_limit_s"), False, "partly"),
    (("user", "task"), False, "partly"),
    (("user", "workload"), False, "partly"),
    (("user",), False, "partly"),
    ((), True, "partly"),
    (("queue",), False, "new"),
    (("workload",), False, "new"),
    ((), False, "new"),
)
_SPOKEN = {"time_limit_s": "time limit", FOLDED: "name but for its numbers"}
#: an attribute with more values than this share of the rows numbers them rather than describes
_MOST_VALUES = 0.1
_FEW_VALUES = 20
#: the same of names whose numbers were folded, of which each is a kind of job
_MOST_FOLDED = 0.2
#: these name the cluster or log a job is of
CLUSTER_COLUMNS = ("attr_cluster", "attr_log", "attr_system", "attr_site", "attr_region")
#: the hash of a missing value
MISSING = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0x100000001B3)
_HALF = np.uint64(29)
_NUMBERS = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True)
class Level:
    """A set of columns that makes jobs alike, on the same cluster unless ``everywhere``."""

    columns: tuple[str, ...]
    closeness: Closeness
    label: str
    everywhere: bool = False


def choose_levels(jobs: pd.DataFrame, *, clusters: bool = False) -> tuple[Level, ...]:
    """Return the levels that these submit-time columns allow, finest first.

    With ``clusters``, jobs say which cluster they are of, and all jobs of the same cluster
    are a level of their own before all jobs.

    Columns with one value say nothing; attributes with nearly as many values as rows,
    such as the number of an array task, would make every job unlike all others.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["a", "b"], "task": ["ps", "worker"]})
    >>> [level.label for level in choose_levels(jobs)]
    ['user and task', 'user', 'all jobs']
    """
    varied = {str(column) for column in jobs if jobs[column].nunique(dropna=False) > 1}
    attributes = [
        column
        for column in map(str, jobs)
        if column.startswith("attr_") and column in varied and _recurs(jobs[column])
    ]
    request = [column for column in _REQUEST if column in varied] + attributes
    if "name" in varied and not _recurs(jobs["name"]):
        varied.discard("name")
        folded = folded_names(jobs["name"])
        if folded.nunique() > 1 and _recurs(folded, _MOST_FOLDED):
            varied.add(FOLDED)
    levels: list[Level] = []
    for words, with_request, closeness in _ORDER:
        wanted = [word for word in words if word in varied]
        if len(words) and len(words) < len(_WORDS) and words[0] not in wanted:
            continue
        # without its second column it is a coarser one, which comes later
        narrowed = len(words) == 2 and (words[0] == "user" or words[1] == "time_limit_s")
        if narrowed and words[1] not in wanted:
            continue
        columns = tuple(wanted + request) if with_request else tuple(wanted)
        if not columns and (words or with_request):
            continue
        if columns == ("group",) and closeness == "seen" and varied & {"name", FOLDED}:
            # an account alone is wider than the names of its jobs, which come next
            continue
        if any(set(columns) == set(level.columns) for level in levels):
            continue
        if closeness == "seen" and (not wanted or columns == ("group",)):
            # a request alone does not say whose job it is, nor an account what kind it is
            closeness = "partly"
        label = _label(wanted, request if with_request else [])
        if not columns and clusters:
            levels.append(Level((), closeness, "cluster"))
        levels.append(Level(columns, closeness, label, everywhere=not columns))
    return tuple(levels)


def hash_columns(jobs: pd.DataFrame | Columns, columns: set[str]) -> dict[str, Keys]:
    """Return a 64-bit number for each value, the same in every process."""
    if not isinstance(jobs, Columns):
        return {column: _hash(jobs, column) for column in columns}
    new = columns - jobs.hashes.keys()
    held = [column for column in new if column in jobs and column != FOLDED]
    given = [column for column in held if is_number(jobs, column)]
    words = [column for column in held if column not in given]
    for alike, hashed in ((given, _hash_numbers), (words, _hash_words)):
        if alike:
            # together: of a few jobs, a call of pandas takes longer than what it does
            every = [_numbers(jobs, one) if alike is given else jobs[one] for one in alike]
            found = hashed(np.concatenate(every)).reshape(len(alike), len(jobs))
            jobs.hashes.update(zip(alike, found, strict=True))
    for column in new.difference(held):
        jobs.hashes[column] = _hash(jobs, column)
    return {column: jobs.hashes[column] for column in columns}


def key_of(level: Level, hashes: dict[str, Keys], rows: int, cluster: Keys | None = None) -> Keys:
    """Return the key of each row on one level; names mean something within a cluster only."""
    key = np.full(rows, len(level.columns) + 1, dtype=np.uint64)
    if cluster is not None and not level.everywhere:
        key = (key ^ cluster) * _MULTIPLIER
    for column in level.columns:
        mixed = (key ^ hashes[column]) * _MULTIPLIER
        key = mixed ^ (mixed >> _HALF)
    return key


@dataclass(frozen=True)
class ClusterColumns:
    """Columns that say which cluster a job is of, and what they usually say.

    User 7 of one cluster is not user 7 of another. A history of one cluster cannot tell, so a
    job that names another one shares no key with it but that of all jobs.

    Examples
    --------
    >>> jobs = pd.DataFrame({"attr_cluster": ["cedar"] * 3, "user": ["ann", "bob", "bob"]})
    >>> held = ClusterColumns.of(jobs)
    >>> elsewhere = held.keys(pd.DataFrame({"attr_cluster": ["graham", None], "user": "bob"}))
    >>> (elsewhere == held.keys(jobs)[0]).tolist()
    [False, True]
    """

    #: column -> hash of its only value, which stands in where a job says nothing
    usual: dict[str, int]

    @classmethod
    def of(cls, jobs: pd.DataFrame) -> ClusterColumns:
        """Find the columns in a history."""
        usual = {}
        for column in CLUSTER_COLUMNS:
            known = jobs[column].dropna() if column in jobs else pd.Series(dtype=object)
            if known.nunique() == 1:
                usual[column] = int(_hash(pd.DataFrame({column: known[:1]}), column)[0])
        return cls(usual)

    def keys(self, jobs: pd.DataFrame | Columns) -> Keys | None:
        """Return a number per job for its cluster; None if nothing tells clusters apart."""
        if not self.usual:
            return None
        key = np.full(len(jobs), MISSING, dtype=np.uint64)
        hashes = hash_columns(jobs, set(self.usual))
        for column, most in self.usual.items():
            own = np.where(hashes[column] == MISSING, np.uint64(most), hashes[column])
            mixed = (key ^ own) * _MULTIPLIER
            key = mixed ^ (mixed >> np.uint64(31))
        return key


def _hash(jobs: pd.DataFrame | Columns, column: str) -> Keys:
    if column == FOLDED and "name" in jobs:
        names = np.asarray(jobs["name"], dtype=object)
        return _hash(
            Columns({column: folded_names(pd.Series(names)).to_numpy()}, len(jobs)), column
        )
    if column not in jobs:
        return np.full(len(jobs), MISSING, dtype=np.uint64)
    if is_number(jobs, column):
        return _hash_numbers(_numbers(jobs, column))
    values = jobs[column]
    if isinstance(values.dtype, pd.StringDtype):
        # each different text once, and none as an object per row
        code, different = pd.factorize(values)
        return np.append(_hash_words(np.asarray(different, dtype=object)), MISSING)[code]
    return _hash_words(np.asarray(values, dtype=object))


def _numbers(jobs: pd.DataFrame | Columns, column: str) -> Floats:
    values = numbers(jobs, column)
    if column not in _ROUNDED:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        size = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.abs(values))))
        return np.where((values != 0) & np.isfinite(values), np.round(values * size) / size, values)


def _hash_numbers(values: Floats) -> Keys:
    # adding zero makes -0.0 and 0.0 one value
    return np.where(np.isnan(values), MISSING, pd.util.hash_array(values + 0.0))


def _hash_words(words: Array) -> Keys:
    missing = pd.isna(words)
    if missing.any() or not all(type(word) is str for word in words):
        texts = ["" if no else str(word) for word, no in zip(words, missing, strict=True)]
        words = np.array(texts, dtype=object)
    return np.where(missing, MISSING, pd.util.hash_array(words, categorize=len(words) > 100))


def folded_names(names: pd.Series) -> pd.Series:
    """Return names in lower case with every number a #; missing ones stay missing.

    Examples
    --------
    >>> folded_names(pd.Series(["Train_lr0.01_seed7", "train_lr0.1_seed12", None])).tolist()
    ['train_lr#_seed#', 'train_lr#_seed#', nan]
    """
    known = names.dropna().astype(str)
    return known.str.lower().str.replace(_NUMBERS, "#", regex=True).reindex(names.index)


def _recurs(values: pd.Series, most: float = _MOST_VALUES) -> bool:
    known = values.dropna()
    return bool(known.nunique() <= max(_FEW_VALUES, most * len(known)))


def _label(words: list[str], request: list[str]) -> str:
    spoken = list(map(spoken_column, words))
    attributes = [name for name in request if name.startswith("attr_")]
    if len(attributes) < len(request):
        spoken.append("request")
    if len(attributes) > _NAMED:
        spoken.append("attributes")
    else:
        spoken += [word for word in map(spoken_column, attributes) if word not in spoken]
    return listed(spoken, most=len(spoken)) if spoken else "all jobs"


def spoken_column(name: str) -> str:
    """Return a column as a sentence names it.

    Examples
    --------
    >>> spoken_column("attr_container_image"), spoken_column("time_limit_s")
    ('container image', 'time limit')
    """
    return _SPOKEN.get(name, name.removeprefix("attr_").replace("_", " "))
