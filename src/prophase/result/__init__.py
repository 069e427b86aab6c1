"""How an answer is told: one keyed document, and its renderers.

=============  =========================================================
`document`     `Result`: question, answer, facts, sections, table, values
`blocks`       what a section holds: text, tables, facts, notes, pictures
`chart`        a figure described by its numbers
`terminal`     text
`json_form`    JSON, and back
`csv_form`     the rows of the table
`markdown`     for wikis and pull requests
`html`         a self-contained page
`stored`       the reports of a workspace
=============  =========================================================
"""

from prophase.result.blocks import (
    Answer,
    Block,
    Bullets,
    Cards,
    Code,
    Fact,
    Facts,
    Heading,
    Links,
    Note,
    Picture,
    Row,
    Section,
    Table,
    Text,
    Tone,
)
from prophase.result.chart import Chart
from prophase.result.document import DataUsed, NextStep, Provenance, Result

__all__ = [
    "Answer",
    "Block",
    "Bullets",
    "Cards",
    "Chart",
    "Code",
    "DataUsed",
    "Fact",
    "Facts",
    "Heading",
    "Links",
    "NextStep",
    "Note",
    "Picture",
    "Provenance",
    "Result",
    "Row",
    "Section",
    "Table",
    "Text",
    "Tone",
]
