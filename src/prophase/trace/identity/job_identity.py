"""A job table with its identity: the columns ``tenant`` and ``kind``, and the rule they follow.

The rule travels with the table (``DataFrame.attrs``, and the workspace's list of tables), so that
a subset of the jobs, a later submission and a saved model are named alike.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from prophase.errors import ParameterError
from prophase.trace.engine import ATTRIBUTES, PARQUET
from prophase.trace.identity.choice import COMPARED, NUMBERS, choose_rule
from prophase.trace.identity.rule import KIND, TENANT, IdentityRule

#: where a frame keeps its rule; pandas keeps it in Parquet files, too, under this name
HELD, _ATTRIBUTES = "prophase_identity", ATTRIBUTES.encode()
#: rows from which on DuckDB writes a table, and what it may hold while it does
_LARGE, _MEMORY = 1_000_000, "1GB"
#: whose and which: what a history is kept by
Key = tuple[str, str]


def with_identity(
    jobs: pd.DataFrame,
    rule: IdentityRule | None = None,
    *,
    by: Sequence[str] | str | None = None,
    trusted: bool = False,
) -> pd.DataFrame:
    """Return the jobs with ``tenant`` and ``kind``; a table that has them stays as it is.

    Parameters
    ----------
    rule : IdentityRule, optional
        The rule to follow; otherwise that of the table, or one chosen from it.
    by : columns, optional
        Group by exactly these columns.
    trusted : bool, default=False
        The columns that are there follow the rule already.

    Examples
    --------
    >>> jobs = with_identity(pd.DataFrame({"user": ["ann"], "task": ["fit"]}))
    >>> jobs[["tenant", "kind"]].values.tolist()
    [['ann', 'fit']]
    """
    if rule is None and not by and _is_complete(jobs):
        return jobs
    rule = rule or (choose_rule(jobs, by=by) if by else rule_of(jobs) or choose_rule(jobs))
    if trusted:
        missing = [name for name in (TENANT, KIND) if name not in jobs]
        named = jobs.assign(**dict.fromkeys(missing)) if KIND in jobs else jobs
    else:
        named = jobs.assign(**{str(name): column for name, column in rule.apply(jobs).items()})
    named.attrs = {**jobs.attrs, HELD: _Shared(rule.to_dict())}
    return named


def rule_of(jobs: pd.DataFrame) -> IdentityRule | None:
    """Return the rule that a table's identity follows; None if it has none yet."""
    held = jobs.attrs.get(HELD)
    return IdentityRule.from_dict(held) if isinstance(held, Mapping) else None


def file_rule(path: Path) -> IdentityRule | None:
    """Return the rule that a Parquet file of jobs keeps; None if it was written without one."""
    held = json.loads((pq.read_schema(path).metadata or {}).get(_ATTRIBUTES, b"{}")).get(HELD)
    return None if held is None else IdentityRule.from_dict(held)


def with_rule(jobs: pd.DataFrame, rule: IdentityRule) -> pd.DataFrame:
    """Let a table be grouped by a rule whenever it is; none is chosen then."""
    jobs.attrs[HELD] = _Shared(rule.to_dict())
    return jobs


class _Shared(dict[str, object]):
    """A rule that tables share: pandas copies all that it holds of a table at every step."""

    def __deepcopy__(self, memo: object) -> _Shared:
        return self


def grouped_by(jobs: pd.DataFrame) -> str:
    """Say by which columns jobs are grouped, as every output that groups them does."""
    rule = rule_of(jobs) or rule_of(with_identity(jobs))
    return "Grouped by the kind that the table gives." if rule is None else rule.sentence


def identity_keys(jobs: pd.DataFrame) -> list[Key]:
    """Return tenant and kind of every job of a table that has them."""
    tenants = jobs[TENANT].fillna("") if TENANT in jobs else [""] * len(jobs)
    return [(str(t), str(k)) for t, k in zip(tenants, jobs[KIND].fillna("all"), strict=True)]


def identity_codes(jobs: pd.DataFrame) -> tuple[NDArray[np.int64], dict[int, Key]]:
    """Return a number per job for its tenant and kind, and the key that each number stands for."""
    count = len(jobs)
    whose, tenants = (
        pd.factorize(jobs[TENANT]) if TENANT in jobs else (np.full(count, -1), pd.Index([]))
    )
    which, kinds = pd.factorize(jobs[KIND])
    codes = (whose.astype(np.int64) + 1) * (len(kinds) + 1) + which + 1
    keys = {}
    for code in pd.unique(codes).tolist():
        tenant, kind = divmod(code, len(kinds) + 1)
        key = (str(tenants[tenant - 1]) if tenant else "", str(kinds[kind - 1]) if kind else "all")
        keys[code] = key
    return codes, keys


def _is_complete(jobs: pd.DataFrame) -> bool:
    return KIND in jobs and TENANT in jobs and bool(jobs[KIND].notna().all())


def shown_keys(keys: Iterable[Key]) -> dict[Key, str]:
    """Return how people see each key: the kind, with its tenant where several have that kind.

    Examples
    --------
    >>> shown_keys([("a", "train"), ("b", "train"), ("b", "eval")])
    {('a', 'train'): 'a/train', ('b', 'train'): 'b/train', ('b', 'eval'): 'eval'}
    """
    distinct = list(dict.fromkeys(keys))
    tenants = defaultdict(set)
    for tenant, kind in distinct:
        tenants[kind].add(tenant)
    kinds = set(tenants)
    shown = {}
    taken: set[str] = set()
    for tenant, kind in distinct:
        name = kind if len(tenants[kind]) == 1 else full_name((tenant, kind))
        if (name != kind and name in kinds) or name in taken:
            name = full_name((tenant.replace("/", "%2F"), kind))
        taken.add(name)
        shown[tenant, kind] = name
    return shown


def full_name(key: Key) -> str:
    """Return tenant and kind in one text; the kind alone if there is one tenant."""
    tenant, kind = key
    return f"{tenant}/{kind}" if tenant else kind


class KeyNames:
    """Which key a name means, as people and hand-written files name jobs.

    A name is a kind, or tenant and kind. A kind that several tenants have is refused without its
    tenant: on the strength of a name alone nothing crosses from one tenant to another.

    Examples
    --------
    >>> names = KeyNames([("a", "train"), ("b", "train"), ("b", "eval")])
    >>> names.find("eval"), names.find("a/train"), names.find("other")
    (('b', 'eval'), ('a', 'train'), None)
    >>> names.find("train")
    Traceback (most recent call last):
    prophase.errors.ParameterError: 'train' is a kind of several tenants: a, b. Write ...
    """

    def __init__(self, keys: Iterable[Key]) -> None:
        self.shown = shown_keys(keys)
        self._exact = {full_name(key): key for key in self.shown}
        self._exact |= {name: key for key, name in self.shown.items()}
        self._tenants: defaultdict[str, list[str]] = defaultdict(list)
        for tenant, kind in self.shown:
            self._tenants[kind].append(tenant)

    def find(self, name: str, tenant: str | None = None) -> Key | None:
        """Return the key that a name means; None if it means none."""
        if tenant is not None:
            return (tenant, name) if tenant in self._tenants.get(name, ()) else None
        if name in self._exact:
            return self._exact[name]
        tenants = sorted(self._tenants.get(name, ()))
        if len(tenants) > 1:
            listed = ", ".join(tenants[:8]) + (", ..." if len(tenants) > 8 else "")
            raise ParameterError(
                f"{name!r} is a kind of several tenants: {listed}. Write for example "
                f"{full_name((tenants[0], name))!r}."
            )
        return (tenants[0], name) if tenants else None


def identified(
    source: Path, rule: IdentityRule | None = None, *, by: Sequence[str] | str | None = None
) -> tuple[Path, IdentityRule]:
    """Write a Parquet file of jobs again with the columns of its identity; return it and the rule.

    A file that was written with them, by the rule that turns out to be right, is returned itself.

    Parameters
    ----------
    source : Path
        The file; it stays as it is.
    rule : IdentityRule, optional
        The rule to follow; chosen from the jobs if not given.
    """
    target = source.with_suffix(".identity.parquet")
    file = pq.ParquetFile(source)
    schema = file.schema_arrow
    likely = file_rule(source) if rule is None else None
    told = [name for name in schema.names if likely is None or name not in (TENANT, KIND)]
    rule = rule or choose_rule(_what_is_compared(source, told, by), by=by)
    if rule == likely and _follows(source, rule):
        return source, rule
    read = [name for name in rule.columns if name in schema.names]
    kept = [name for name in schema.names if name not in (TENANT, KIND)]
    place = kept.index("source") if "source" in kept else len(kept)
    fields = [schema.field(name) for name in kept]
    fields[place:place] = [pa.field(TENANT, pa.string()), pa.field(KIND, pa.string())]
    metadata = dict(schema.metadata or {})
    held = json.loads(metadata.get(_ATTRIBUTES, b"{}"))
    metadata[_ATTRIBUTES] = json.dumps({**held, HELD: rule.to_dict()}).encode()
    whole = pa.schema(fields, metadata)
    if file.metadata.num_rows > _LARGE and KIND not in told:
        _write_large(source, target, whole, rule)
        return target, rule
    with pq.ParquetWriter(target, whole, compression="zstd") as writer:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group)
            made = rule.apply(rows.select(read).to_pandas())
            columns = {
                name: pa.array(made[name], pa.string(), from_pandas=True)
                if name in (TENANT, KIND)
                else rows.column(name)
                for name in whole.names
            }
            writer.write_table(pa.table(columns, schema=whole))
    return target, rule


def _follows(source: Path, rule: IdentityRule) -> bool:
    """Say whether a file's tenants and kinds are those of a rule, for all words that it has."""
    listed = ", ".join(f'"{name}"' for name in dict.fromkeys((*rule.columns, TENANT, KIND)))
    with duckdb.connect() as db:
        db.execute(f"SET enable_progress_bar = false; SET memory_limit = '{_MEMORY}'")
        db.read_parquet(str(source)).create_view("held")
        said = db.sql(f"SELECT DISTINCT {listed} FROM held").to_arrow_table().to_pandas()
    made = said[[TENANT, KIND]].astype(object)
    return rule.apply(said).equals(made.where(made.notna(), None))


def _write_large(source: Path, target: Path, whole: pa.Schema, rule: IdentityRule) -> None:
    """Write a large file with its identity, which is found once for all rows that say the same."""
    words = [name for name in rule.columns if name in whole.names and name not in (TENANT, KIND)]
    with duckdb.connect() as db:
        # a bar would go to stdout, among the results
        db.execute(f"SET enable_progress_bar = false; SET memory_limit = '{_MEMORY}'")
        db.execute("SET temp_directory = $where", {"where": f"{target}.spill"})
        db.read_parquet(str(source)).create_view("held")
        listed = ", ".join(f'"{name}"' for name in words) or "0 AS nothing"
        said = db.sql(f"SELECT DISTINCT {listed} FROM held").to_arrow_table()
        named = rule.apply(said.select(words).to_pandas() if words else pd.DataFrame(index=[0]))
        for name in (TENANT, KIND):
            column = pa.array(named[name], pa.string(), from_pandas=True)
            said = said.append_column(f"made_{name}", column)
        db.register("said", said)
        same = " AND ".join(f'held."{name}" IS NOT DISTINCT FROM said."{name}"' for name in words)
        columns = ", ".join(
            f'made_{name} AS "{name}"' if name in (TENANT, KIND) else f'held."{name}"'
            for name in whole.names
        )
        layout = ", ".join(f"{name} {value!r}" for name, value in PARQUET.items())
        attributes = whole.metadata[_ATTRIBUTES].decode().replace("'", "''")
        path = str(target).replace("'", "''")
        db.execute(
            f"COPY (SELECT {columns} FROM held JOIN said ON {same or 'true'}) TO "
            f"'{path}' (FORMAT parquet, {layout}, "
            f"KV_METADATA {{{_ATTRIBUTES.decode()}: '{attributes}'}})"
        )


def _what_is_compared(
    source: Path, held: Sequence[str], by: Sequence[str] | str | None
) -> pd.DataFrame:
    """Return what a choice looks at of a file; words take little room as categories.

    Of a large file, parts spread evenly over it: the choice draws from them once more.
    """
    file = pq.ParquetFile(source)
    every = -(-file.metadata.num_rows // _LARGE)
    groups = range(0, file.num_row_groups, max(every, 1))
    columns = [name for name in held if by or name in COMPARED]
    return with_categories(file.read_row_groups(list(groups), columns=columns))


def with_categories(table: pa.Table) -> pd.DataFrame:
    """Return a table whose words are categories."""
    for place, name in enumerate(table.column_names):
        if name not in NUMBERS:
            table = table.set_column(place, name, table.column(name).dictionary_encode())
    jobs: pd.DataFrame = table.to_pandas()
    return jobs
