"""One document for every answer: what was asked, what came out, how sure it is, what to do.

Every capability returns a `Result`; terminal, JSON, CSV, Markdown, pages and the dashboard
render it. Parts are found and joined by their keys, never by their words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prophase.result.blocks import Answer, Fact, Picture, Row, Section, Table, Tone
from prophase.version import __version__

#: what a tone says if the answer has no word of its own
_WORDS = {"note": "", "good": "Yes.", "warning": "With care.", "bad": "No."}


@dataclass(frozen=True)
class DataUsed:
    """A table that went into the result, and what was left out of it.

    Parameters
    ----------
    name : str
        File or table.
    rows : int, optional
        Rows that were used.
    data_hash : str
        Hash of the contents, so that the same data can be recognised.
    kind : str
        ``real``, ``synthetic`` or empty.
    dropped : mapping of str to int
        Reason -> rows left out for it.
    note : str
        Anything a reader has to know about it.
    """

    name: str
    rows: int | None = None
    data_hash: str = ""
    kind: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class NextStep:
    """Something the reader can do, with the command for it if there is one."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class Provenance:
    """What one needs to get the same result again.

    Parameters
    ----------
    command : str
        The exact command.
    seeds : mapping of str to int
        What is random -> its seed.
    settings : mapping
        The plan or options that the command read from elsewhere.
    version : str
        Of Prophase.
    about : mapping of str to str
        Anything else that tells this result from another, such as the source of the data.
    """

    command: str = ""
    seeds: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    version: str = __version__
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """Everything that a reader needs to judge an answer and to act on it.

    Parameters
    ----------
    key : str
        Which answer it is, such as ``prove``.
    title, question : str
        What the page is called, and what was asked.
    answer : str
        The result in one or two sentences.
    tone : {"note", "good", "warning", "bad"}
        How the answer is marked.
    verdict : str
        The answer in a word or two, such as ``Valid.``; the tone has words of its own.
    facts : sequence of Fact
        The few numbers that stand at the top.
    front : sequence of Fact
        What a result with answers is about: when, how large, how much money.
    answers : sequence of Answer
        The questions of a longer result, answered at a glance; on pages they take the place of
        the facts.
    sections : sequence of Section, or a function that returns it
        What came out, told; a function is called only for pages, which draw.
    tables : sequence of Table
        What a terminal shows; a result without any is told there by its sections.
    notes : sequence of str
        What stands below the tables.
    records : sequence of mappings
        The rows for programs (CSV), if they differ from those of the first table.
    values : mapping, optional
        The answer as JSON has it; without it JSON lists the rows.
    data, method
        What went in, and what was done.
    valid_for, not_valid_for, limits : sequence of str
        Where the result holds, where it does not, and what it leaves out.
    next_steps : sequence of NextStep
        How to use it.
    provenance : Provenance, optional
        How to get it again.

    Examples
    --------
    >>> from prophase.stats import Estimate
    >>> result = Result(
    ...     "sizing",
    ...     "Sizing",
    ...     question="How much memory can be saved?",
    ...     answer="About a third.",
    ...     facts=[Fact("saving", "saving", Estimate(31.4, 27.9, 35.1), "%")],
    ... )
    >>> result.facts[0].text()
    '31.4 % (27.9 to 35.1)'
    """

    key: str
    title: str = ""
    question: str = ""
    answer: str = ""
    tone: Tone = "note"
    verdict: str = ""
    facts: Sequence[Fact] = ()
    front: Sequence[Fact] = ()
    answers: Sequence[Answer] = ()
    sections: Sequence[Section] | Callable[[], Sequence[Section]] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    records: Sequence[Row] = ()
    values: Mapping[str, object] | None = None
    data: Sequence[DataUsed] = ()
    method: Sequence[str] = ()
    valid_for: Sequence[str] = ()
    not_valid_for: Sequence[str] = ()
    limits: Sequence[str] = ()
    next_steps: Sequence[NextStep] = ()
    provenance: Provenance | None = None

    @classmethod
    def of_rows(
        cls,
        key: str,
        rows: Sequence[Row],
        *,
        values: Mapping[str, object] | None = None,
        notes: Sequence[str] = (),
    ) -> Result:
        """Return the usual small result: one table, what JSON has, and notes below the table.

        Examples
        --------
        >>> Result.of_rows("tokens", [{"name": "ci", "role": "read"}]).rows
        [{'name': 'ci', 'role': 'read'}]
        """
        return cls(key, tables=[Table("rows", rows)], values=values, notes=notes)

    @property
    def word(self) -> str:
        """The answer in a word or two."""
        return self.verdict or _WORDS[self.tone]

    @property
    def rows(self) -> Sequence[Row]:
        """The rows for programs."""
        return self.records or (self.tables[0].rows if self.tables else ())

    def all_sections(self) -> list[Section]:
        """Return the sections, made now if they were not yet."""
        return list(self.sections() if callable(self.sections) else self.sections)

    def worded_sections(self) -> list[Section]:
        """Return the sections for a reader who sees no pictures, which are then not drawn."""
        told = self.sections
        return (
            told.result.worded_sections() if isinstance(told, _Illustrated) else self.all_sections()
        )

    def section(self, key: str) -> Section:
        """Return the section with a key.

        Examples
        --------
        >>> sizing = Result("sizing", sections=[Section("waste", "Where is the waste?")])
        >>> sizing.section("waste").title
        'Where is the waste?'
        """
        return next(one for one in self.all_sections() if one.key == key)

    def noted(self, *notes: str) -> Result:
        """Return the result with more notes."""
        return replace(self, notes=[*self.notes, *notes])

    def illustrated(self, pictures: Callable[[], Iterable[Picture]]) -> Result:
        """Return the result with pictures in the sections they belong to, drawn only for pages."""
        return replace(self, sections=_Illustrated(self, pictures))


class _Illustrated:
    """Sections with pictures, which are drawn when a page asks for them."""

    def __init__(self, result: Result, pictures: Callable[[], Iterable[Picture]]) -> None:
        self.result, self.pictures = result, pictures

    def __call__(self) -> list[Section]:
        drawn = list(self.pictures())
        return [
            one.illustrated([picture for picture in drawn if picture.section == one.key])
            for one in self.result.all_sections()
        ]
