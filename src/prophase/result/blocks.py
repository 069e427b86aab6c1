"""What stands in a section: sentences, numbers, tables, charts, commands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from prophase import units
from prophase.result.chart import Chart

if TYPE_CHECKING:
    from prophase.stats import Estimate

Tone = Literal["note", "good", "warning", "bad"]
Row = Mapping[str, object]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """Short sentences, one below the other."""

    items: Sequence[str]


@dataclass(frozen=True)
class Heading:
    """A heading inside a section, coloured by its tone."""

    text: str
    tone: Tone = "note"


@dataclass(frozen=True)
class Note:
    """Something the reader must not miss."""

    text: str
    tone: Tone = "note"
    title: str = ""


@dataclass(frozen=True)
class Code:
    """A command or a piece of text to copy."""

    text: str


@dataclass(frozen=True)
class Links:
    """Files that lie beside the page: pairs of text and relative address."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Fact:
    """A number with its unit and, where it is uncertain, its interval.

    Parameters
    ----------
    key : str
        Unique within a result.
    label : str
        What is measured, in words.
    value : Estimate, number, str or None
        None if it could not be measured.
    unit : str
        Such as ``GiB h``, ``%`` or ``s``; empty for counts.

    Examples
    --------
    >>> from prophase.stats import Estimate
    >>> Fact("saving", "saving", Estimate(31.42, 27.9, 35.06), "%").text()
    '31.4 % (27.9 to 35.1)'
    >>> Fact("wait", "wait", Estimate(9.0, reason="only 2 days"), "s").text()
    '9 s (no interval: only 2 days)'
    >>> Fact("jobs", "jobs", 12000).text(), Fact("cost", "cost", None).text()
    ('12,000', 'unknown')
    """

    key: str
    label: str
    value: Estimate | float | str | None
    unit: str = ""

    def text(self) -> str:
        """Return value, unit and interval as one would write them."""
        value = self.value
        if isinstance(value, str):
            return f"{value} {self.unit}".rstrip()
        if value is None or isinstance(value, int | float):
            return units.amount(value, self.unit, missing="unknown")
        said = units.estimate(value.value, value.low, value.high, self.unit, missing="unknown")
        if value.known or not value.reason:
            return said
        return f"{said} ({'' if said == 'unknown' else 'no interval: '}{value.reason})"


@dataclass(frozen=True)
class Facts:
    """A few large numbers with what they mean below."""

    items: Sequence[Fact]


@dataclass(frozen=True)
class Answer:
    """A question that the reader comes with, and its answer at a glance.

    Parameters
    ----------
    question : str
        As one would ask it.
    value : str
        The answer in a few letters: a number with unit and interval, or ``not answered``.
    text : str
        What the number is of, or why there is none.
    section : str
        Key of the section that tells more.
    command : str
        What to type to get the number.
    """

    question: str
    value: str
    text: str = ""
    section: str = ""
    command: str = ""


@dataclass(frozen=True)
class Cards:
    """The questions a reader comes with, answered side by side."""

    items: Sequence[Answer]


@dataclass(frozen=True)
class Table:
    """Rows under headings that carry units; ``x_low`` and ``x_high`` are the interval of ``x``.

    Parameters
    ----------
    key : str
        Unique within a result.
    rows : sequence of mappings
        The keys of all rows are the columns.
    folded : bool
        Whether it opens on a click: a figure or a sentence has told its point.
    """

    key: str
    rows: Sequence[Row]
    caption: str = ""
    folded: bool = False

    @property
    def columns(self) -> list[str]:
        """Every column, in the order in which rows bring them."""
        return list(dict.fromkeys(column for row in self.rows for column in row))

    def for_people(self) -> Table:
        """Return the table with intervals in the cell of their value.

        Examples
        --------
        >>> row = {"saving_pct": 31.4, "saving_pct_low": 27.9, "saving_pct_high": 35.1}
        >>> Table("saved", [row]).for_people().rows
        [{'saving_pct': '31.4 (27.9 to 35.1)'}]
        """
        columns = set(self.columns)
        paired = {c for c in columns if {f"{c}_low", f"{c}_high"} <= columns}
        hidden = {f"{column}_{end}" for column in paired for end in ("low", "high")}
        rows = [
            {c: _cell(row, c, c in paired) for c in row if c not in hidden} for row in self.rows
        ]
        return replace(self, rows=rows)

    def numeric(self, column: str) -> bool:
        """Tell whether a column holds numbers only."""
        values = [row.get(column) for row in self.rows]
        return all(_is_number(one) for one in values) and any(one is not None for one in values)


@dataclass(frozen=True)
class Picture:
    """A finished figure with its caption, made by plots; JSON leaves it out.

    Parameters
    ----------
    key : str
        Unique within a result; also the name of its file.
    alt : str
        What it shows, in words.
    section : str
        Key of the section it belongs to.
    """

    key: str
    figure: object
    caption: str = ""
    alt: str = ""
    section: str = ""
    #: bitmaps suit scatter plots of many points
    as_bitmap: bool = False


Block = (
    Text | Bullets | Heading | Note | Code | Links | Facts | Cards | Table | Chart | Picture
)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; without a title it leads the page.

    Parameters
    ----------
    key : str
        Unique within a result: sections are found, ordered and linked by it.
    command : str
        What to type to get the numbers of the section.
    """

    key: str
    title: str
    blocks: Sequence[Block] = ()
    command: str = ""

    @classmethod
    def told(
        cls,
        key: str,
        title: str,
        texts: Sequence[str] = (),
        tables: Sequence[Table] = (),
        charts: Sequence[Chart | Picture] = (),
    ) -> Section:
        """Return the usual section: sentences, figures, tables."""
        return cls(key, title, [*map(Text, texts), *charts, *tables])

    @property
    def texts(self) -> list[str]:
        """Every sentence of the section."""
        return [text for block in self.blocks for text in _texts(block)]

    @property
    def tables(self) -> list[Table]:
        """Every table of the section."""
        return [block for block in self.blocks if isinstance(block, Table)]

    @property
    def charts(self) -> list[Chart]:
        """Every chart of the section."""
        return [block for block in self.blocks if isinstance(block, Chart)]

    @property
    def figures(self) -> list[Chart | Picture]:
        """Every chart that has something to draw, and every picture."""
        return [
            block
            for block in self.blocks
            if isinstance(block, Picture) or (isinstance(block, Chart) and block.rows)
        ]

    def illustrated(self, pictures: Sequence[Picture]) -> Section:
        """Return the section with pictures before its first table."""
        first = next(
            (n for n, block in enumerate(self.blocks) if isinstance(block, Table)),
            len(self.blocks),
        )
        return replace(self, blocks=[*self.blocks[:first], *pictures, *self.blocks[first:]])


def _texts(block: Block) -> Iterator[str]:
    match block:
        case Text(text) | Note(text):
            yield text
        case Bullets(items):
            yield from items


def _cell(row: Row, column: str, paired: bool) -> object:
    value = row.get(column)
    if not paired or not isinstance(value, int | float):
        return value
    low, high = (row.get(f"{column}_{end}") for end in ("low", "high"))
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return value
    return value if math.isnan(low) else units.estimate(value, low, high)


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
