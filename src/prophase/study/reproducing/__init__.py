"""Published experiments run again: every table and figure with a verdict, and one report each."""

from prophase.study.reproducing.claims import Claim, claims_of, counts_of
from prophase.study.reproducing.contents import CONTENTS, Piece, contents_of
from prophase.study.reproducing.sources import SOURCES, Source, data_of, data_used
from prophase.study.reproducing.telling import reproduction_report

__all__ = [
    "CONTENTS",
    "SOURCES",
    "Claim",
    "Piece",
    "Source",
    "claims_of",
    "contents_of",
    "counts_of",
    "data_of",
    "data_used",
    "reproduction_report",
]
