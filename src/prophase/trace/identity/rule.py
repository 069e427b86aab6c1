"""The rule that says whose a job is and which kind: for a table or a single submission, alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Literal, get_args

import pandas as pd

from prophase.errors import MissingColumnError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.trace.identity.folding import FOLDED, folded, script_of
from prophase.trace.schema import IDENTITY, JOBS

if TYPE_CHECKING:
    import ibis

TENANT, KIND = IDENTITY
#: the kind of jobs that nothing names
UNNAMED = "all"
#: column that is made of another: the script of the line that submitted the job
SCRIPT, SUBMIT_LINE = "script", "attr_submit_line"
#: stands for a missing part of a tenant or kind that has several
_MISSING = "-"
#: "names": numbers are folded in what people type for every job; "words": in tasks and workloads,
#: too, which a program names; "all": every number, also those that belong to a word
Folding = Literal["names", "words", "all"]
_TYPED = {"name", SCRIPT, "attr_workdir", "attr_comment", "attr_container", "attr_image"}
_GIVEN = {"task", "workload"}
#: how a column is called in a sentence
_SPOKEN = {
    "name": "job name",
    "attr_workdir": "working directory",
    "attr_namespace": "namespace",
    "attr_comment": "comment",
    "attr_container": "container",
    "attr_image": "image",
    "attr_owner_kind": "kind of owner",
}


@dataclass(frozen=True)
class IdentityRule:
    """By which columns jobs are runs of the same thing.

    Attributes
    ----------
    tenant : tuple of str
        Columns that say whose a job is. No recommendation crosses from one tenant to another.
        Empty: all jobs are of one tenant.
    kinds : tuple of tuples of str
        Columns that name the kind, from narrow to wide. A job's kind is the first level that it
        has a value for.
    folding : {"names", "words", "all"}
        Which numbers are taken out: those of names, also those of tasks and workloads, or all.
    group : str
        What ``group`` holds: an ``account``, or the ``job group`` that recurs.
    chosen : bool
        Whether the rule was chosen from a table, or given with ``by``.

    Examples
    --------
    >>> rule = IdentityRule(("user",), (("name",),))
    >>> rule.apply(pd.DataFrame({"user": ["ann", "bob"], "name": ["fit_1", "fit_2"]}))
      tenant   kind
    0    ann  fit_#
    1    bob  fit_#
    >>> rule.key({"user": "bob", "name": "fit_3"}), str(rule)
    (('bob', 'fit_#'), 'user + job name, numbers folded')
    """

    tenant: tuple[str, ...] = ()
    kinds: tuple[tuple[str, ...], ...] = ()
    folding: Folding = "names"
    group: str = "account"
    chosen: bool = True

    def __post_init__(self) -> None:
        if self.folding not in get_args(Folding):
            said = f"folding is {self.folding!r}, which is unknown."
            raise ParameterError(not_among(said, self.folding, get_args(Folding)))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the job table that the rule reads."""
        named = [*self.tenant, *(column for level in self.kinds for column in level)]
        read = [SUBMIT_LINE if column == SCRIPT else column for column in named]
        return tuple(dict.fromkeys(read))

    def apply(self, jobs: pd.DataFrame) -> pd.DataFrame:
        """Return the columns ``tenant`` and ``kind`` for a table; a single tenant is missing."""
        tenant = self._joined(jobs, self.tenant) if self.tenant else None
        kind = pd.Series(pd.NA, index=jobs.index, dtype="string")
        for level in self.kinds:
            if kind.isna().any():
                kind = kind.fillna(self._joined(jobs, level))
        missing = pd.Series(pd.NA, index=jobs.index, dtype="string")
        made = {TENANT: missing if tenant is None else tenant, KIND: kind.fillna(UNNAMED)}
        return pd.DataFrame(made).astype(object).where(lambda held: held.notna(), None)

    def expressed(self, jobs: ibis.Table) -> dict[str, ibis.Value] | None:
        """Return tenant and kind as expressions of a table; None if they are more than its texts.

        :meth:`apply` also takes white space off their ends.
        """
        named = [column for level in self.kinds for column in level]
        if not self.tenant or not named or not {*self.columns} <= {*jobs.columns}:
            return None
        if any(column == SCRIPT or self.folds(column) or column in self.tenant for column in named):
            return None
        first, *wider = (_expressed(jobs, level) for level in self.kinds)
        whose = _expressed(jobs, self.tenant, escaped=True)
        return {TENANT: whose, KIND: first.coalesce(*wider).fill_null(UNNAMED)}

    def key(self, job: Mapping[str, object]) -> tuple[str, str]:
        """Return tenant and kind of one job, given the columns that have a value."""
        return self.levels(job)[0]

    def levels(self, job: Mapping[str, object]) -> list[tuple[str, str]]:
        """Return tenant and kind of one job from narrow to wide, all inside its tenant."""
        tenant = self._of_job(job, self.tenant) or ""
        found = [self._of_job(job, level) for level in self.kinds]
        kinds = list(dict.fromkeys(kind for kind in found if kind is not None))
        return [(tenant, kind) for kind in kinds or [UNNAMED]]

    def key_among(self, job: Mapping[str, object], tenants: Collection[str]) -> tuple[str, str]:
        """Return tenant and kind of one job where these tenants have a history.

        A job that does not say whose it is belongs to the only tenant there is. One that names
        its user, but not for which account, belongs to that user's only account.

        Examples
        --------
        >>> rule = IdentityRule(("group", "user"), (("name",),))
        >>> rule.key_among({"user": "ann", "name": "fit"}, ["nlp/ann", "nlp/bob"])
        ('nlp/ann', 'fit')
        >>> rule.key_among({"name": "fit"}, ["nlp/ann", "nlp/bob"])
        ('', 'fit')
        """
        tenant, kind = self.key(job)
        missing = self.whose(job)
        if not missing or tenant in tenants:
            return tenant, kind
        if len(missing) == len(self.tenant):
            return next(iter(tenants)) if len(tenants) == 1 else tenant, kind
        if "user" not in missing and "user" in self.tenant:
            place = [self.tenant.index(column) for column in self.tenant if column not in missing]
            own = tenant.split("/")
            split = [(one, one.split("/")) for one in tenants]
            fitting = [one for one, parts in split if all(parts[i] == own[i] for i in place)]
            tenant = fitting[0] if len(fitting) == 1 else tenant
        return tenant, kind

    def whose(self, job: Mapping[str, object]) -> tuple[str, ...]:
        """Return the columns that would say whose a job is and have no value."""
        return tuple(column for column in self.tenant if _text(job.get(column)) is None)

    @property
    def folds_name(self) -> bool:
        """Whether a kind is a job's name with its numbers taken out."""
        return "name" in self._narrowest and self.folds("name")

    def __str__(self) -> str:
        spoken = [self._spoken(column) for column in (*self.tenant, *self._narrowest)]
        named = " + ".join(dict.fromkeys(spoken)) or "nothing: all jobs are one kind"
        if not any(map(self.folds, self._narrowest)):
            return named
        return f"{named}, {'all ' if self.folding == 'all' else ''}numbers folded"

    @property
    def sentence(self) -> str:
        """How jobs were grouped, as outputs tell it."""
        return f"Grouped by {self}; --by changes it."

    @property
    def _narrowest(self) -> tuple[str, ...]:
        return self.kinds[0] if self.kinds else ()

    def _spoken(self, column: str) -> str:
        return self.group if column == "group" else _SPOKEN.get(column, column)

    def to_dict(self) -> JsonObject:
        """Return the rule as JSON has it."""
        return {
            "tenant": list(self.tenant),
            "kinds": [list(level) for level in self.kinds],
            "folding": self.folding,
            "group": self.group,
            "chosen": self.chosen,
        }

    @classmethod
    def from_dict(cls, held: Mapping[str, object]) -> IdentityRule:
        """Return the rule that :meth:`to_dict` wrote."""
        tenant, kinds = held.get("tenant"), held.get("kinds")
        foldings: tuple[Folding, ...] = get_args(Folding)
        folding: Folding = next((one for one in foldings if one == held.get("folding")), "names")
        return cls(
            tuple(map(str, tenant)) if isinstance(tenant, Sequence) else (),
            tuple(tuple(map(str, level)) for level in kinds) if isinstance(kinds, Sequence) else (),
            folding,
            str(held.get("group", "account")),
            bool(held.get("chosen", True)),
        )

    def _joined(self, jobs: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
        """Return one text per job; missing where none of the columns has a value."""
        several = len(columns) > 1
        parts = [self._texts(jobs, column, several) for column in columns]
        if not several:
            return parts[0] if parts else pd.Series(pd.NA, index=jobs.index, dtype="string")
        joined = parts[0].fillna(_MISSING)
        known = parts[0].notna()
        for part in parts[1:]:
            joined = joined.str.cat(part.fillna(_MISSING), sep="/")
            known |= part.notna()
        return joined.where(known)

    def _texts(self, jobs: pd.DataFrame, column: str, several: bool) -> pd.Series:
        source = SUBMIT_LINE if column == SCRIPT else column
        if source not in jobs:
            return pd.Series(pd.NA, index=jobs.index, dtype="string")
        codes, names = pd.factorize(jobs[source])
        made = pd.array([*(self._part(column, name, several) for name in names), None], "string")
        return pd.Series(made.take(codes), index=jobs.index)

    def _of_job(self, job: Mapping[str, object], columns: Sequence[str]) -> str | None:
        several = len(columns) > 1
        parts = [
            self._part(column, job.get(SUBMIT_LINE if column == SCRIPT else column), several)
            for column in columns
        ]
        if all(part is None for part in parts):
            return None
        return "/".join(_MISSING if part is None else part for part in parts)

    def _part(self, column: str, value: object, several: bool) -> str | None:
        """Return one value as its part of a tenant or kind."""
        text = _text(value)
        if text is None:
            return None
        if column in self.tenant:
            # the parts of a tenant can be told apart, whatever stands in them
            return _escaped(text) if several else text
        if column == SCRIPT:
            text = script_of(text)
        if text is None or not self.folds(column):
            return text
        name = folded(text, "all" if self.folding == "all" else "words")
        # a name that is a number or a hash and nothing else names nothing
        return None if name == FOLDED else name

    def folds(self, column: str) -> bool:
        """Say whether what differs from run to run is taken out of a column."""
        return column in _TYPED or (column in _GIVEN and self.folding != "names")


#: all jobs are of one tenant and one kind
NO_RULE = IdentityRule()


def rule_by(columns: Sequence[str] | str, jobs: pd.DataFrame, group: str) -> IdentityRule:
    """Return the rule that a user names with ``by``: exactly these columns tell jobs apart.

    Those that say whose a job is become the tenant, the others the kind.

    Examples
    --------
    >>> rule_by("user,name", pd.DataFrame({"user": ["a"], "name": ["b"]}), "account").tenant
    ('user',)
    """
    listed = columns.split(",") if isinstance(columns, str) else list(columns)
    named = list(dict.fromkeys(name.strip() for name in listed if name.strip()))
    if not named:
        raise ParameterError("by names no column. Write for example user,name.")
    for column in named:
        source = SUBMIT_LINE if column == SCRIPT else column
        if source not in jobs:
            known = JOBS.get(source)
            if known is not None and known.known == "after":
                said = f"{column} is known only after a job has run, so it cannot name its kind."
                raise ParameterError(said)
            said = f"the jobs have no column {column!r} to group by."
            raise MissingColumnError(
                not_among(said, column, [str(name) for name in jobs.columns], most=12)
            )
    whose = {"attr_namespace", "user", "queue"} | ({"group"} if group == "account" else set())
    tenant = tuple(column for column in named if column in whose)
    kind = tuple(column for column in named if column not in whose)
    return IdentityRule(tenant, (kind,) if kind else (), "names", group, chosen=False)


def _text(value: object) -> str | None:
    if value is None or value is pd.NA or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip() or None


def _expressed(jobs: ibis.Table, columns: Sequence[str], *, escaped: bool = False) -> ibis.Value:
    """Return what a rule joins of some columns, as an expression."""
    texts = [jobs[name].nullif("") for name in columns]
    if len(texts) == 1:
        return texts[0]
    if escaped:
        told = [text.replace("%", "%25").replace("/", "%2F") for text in texts]
        texts = [text.substitute({_MISSING: "%2D"}) for text in told]
    parts = [text.fill_null(_MISSING) for text in texts]
    joined = reduce(lambda left, right: left + "/" + right, parts)
    known = reduce(or_, [text.notnull() for text in texts])
    return known.ifelse(joined, joined.nullif(joined))


def _escaped(text: str) -> str:
    return "%2D" if text == _MISSING else text.replace("%", "%25").replace("/", "%2F")
