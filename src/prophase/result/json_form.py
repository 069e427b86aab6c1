"""A result as JSON, and back; reports of earlier versions are read, too."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from prophase.errors import FormatError, storage_error
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
    Section,
    Table,
    Text,
)
from prophase.result.chart import Chart
from prophase.result.document import DataUsed, NextStep, Provenance, Result
from prophase.stats import Estimate

#: what a file says it is; the first version had findings in place of sections, and no keys
FORMAT = "prophase-report"
FORMAT_VERSION = 2

_Json = dict[str, Any]
_BLOCKS: dict[str, type[Block]] = {
    kind.__name__.lower(): kind
    for kind in (Text, Bullets, Heading, Note, Code, Links, Table, Chart, Facts, Cards)
}


def to_dict(result: Result) -> _Json:
    """Return a result as plain values that fit into JSON.

    Examples
    --------
    >>> document = to_dict(Result("sizing", "Sizing", question="How much?"))
    >>> document["format"], document["question"]
    ('prophase-report', 'How much?')
    """
    sections = [_section(one) for one in result.worded_sections()]
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **_plain(result, without=("sections",)),
        "sections": sections,
    }


def from_dict(document: Mapping[str, Any], *, name: str = "report") -> Result:
    """Return the result that `to_dict` was given, without its pictures.

    Raises
    ------
    FormatError
        If the document is no report, or one of a newer version.

    Examples
    --------
    >>> from_dict(to_dict(Result("sizing", "Sizing", question="How much?"))).title
    'Sizing'
    """
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise FormatError(
            f'{name}: is no report of Prophase: it lacks "format": "{FORMAT}". '
            "Name a report.json that prophase wrote."
        )
    version = document.get("format_version")
    if version not in (1, FORMAT_VERSION):
        raise FormatError(
            f"{name}: has report format {version}, and this version reads {FORMAT_VERSION}. "
            "Update prophase, or write the report again."
        )
    values = {k: v for k, v in document.items() if k not in ("format", "format_version")}
    try:
        return _result(_from_first_version(values) if version == 1 else values)
    except (TypeError, AttributeError, KeyError, ValueError) as cause:
        raise FormatError(f"{name}: is damaged: {cause}. Write the report again.") from cause


def read_result(path: str | Path) -> Result:
    """Read a result from its JSON file."""
    path = Path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise storage_error(cause, path) from cause
    except ValueError as cause:
        raise FormatError(
            f"{path}: is no JSON ({cause}). Name a report.json that prophase wrote."
        ) from cause
    return from_dict(document, name=str(path))


def _section(section: Section) -> _Json:
    kept = [block for block in section.blocks if not isinstance(block, Picture)]
    blocks = [{"block": type(block).__name__.lower(), **_plain(block)} for block in kept]
    told = {"key": section.key, "title": section.title, "blocks": blocks}
    return {**told, "command": section.command} if section.command else told


def _plain(value: Any, without: Sequence[str] = ()) -> Any:
    """Return dataclasses as mappings and everything else as JSON has it."""
    if isinstance(value, Fact):
        found = value.value
        held = found.to_dict() if isinstance(found, Estimate) else {"value": _plain(found)}
        return {"key": value.key, "label": value.label, "unit": value.unit, **held}
    if is_dataclass(value) and not isinstance(value, type):
        return {
            part.name: _plain(getattr(value, part.name))
            for part in fields(value)
            if part.name not in without
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _result(values: _Json) -> Result:
    again = values.get("provenance")
    read = {
        "facts": [_fact(one) for one in values["facts"]],
        "front": [_fact(one) for one in values.get("front", ())],
        "answers": [Answer(**one) for one in values["answers"]],
        "sections": [
            Section(
                one["key"],
                one["title"],
                [_block(block) for block in one["blocks"]],
                one.get("command", ""),
            )
            for one in values["sections"]
        ],
        "data": [DataUsed(**one) for one in values["data"]],
        "next_steps": [NextStep(**one) for one in values["next_steps"]],
        "tables": [Table(**one) for one in values.get("tables", ())],
        "provenance": Provenance(**again) if again else None,
    }
    return Result(**{**values, **read})


def _fact(one: _Json) -> Fact:
    rest = {key: value for key, value in one.items() if key not in ("key", "label", "unit")}
    found: Any = rest["value"]
    if rest.get("low") is not None or "reason" in rest:
        ends = {end: math.nan if rest.get(end) is None else rest[end] for end in ("low", "high")}
        found = Estimate(**{**rest, "value": math.nan if found is None else found, **ends})
    return Fact(one["key"], one["label"], found, one["unit"])


def _block(one: _Json) -> Block:
    kind = _BLOCKS[one["block"]]
    parts = {key: value for key, value in one.items() if key != "block"}
    if kind is Facts:
        return Facts([_fact(fact) for fact in parts["items"]])
    if kind is Cards:
        return Cards([Answer(**card) for card in parts["items"]])
    return kind(**parts)


def _from_first_version(old: _Json) -> _Json:
    """Return a report of the first version in the form of the second."""
    again = old.pop("reproduce", None)
    lists = {key: old.get(key) or [] for key in ("facts", "answers", "data", "findings")}
    return {
        **{key: value for key, value in old.items() if key not in ("apply", "findings", "verdict")},
        "key": "",
        "tone": old.get("verdict", "note"),
        "facts": [{"key": key_of(f["name"]), "label": f.pop("name"), **f} for f in lists["facts"]],
        "answers": [{**a, "section": key_of(a.get("section", ""))} for a in lists["answers"]],
        "data": lists["data"],
        "next_steps": old.get("apply") or [],
        "provenance": again,
        "sections": [
            {"key": key_of(f["title"]), "title": f["title"], "blocks": list(_blocks_of(f))}
            for f in lists["findings"]
        ],
    }


def _blocks_of(finding: _Json) -> Iterator[_Json]:
    for text in finding.get("text", ()):
        yield {"block": "text", "text": text}
    for chart in finding.get("charts", ()):
        yield {"block": "chart", "key": chart.pop("name"), **chart}
    for place, table in enumerate(finding.get("tables", ())):
        yield {"block": "table", "key": f"{key_of(finding['title'])}-{place}", **table}


def key_of(words: str) -> str:
    """Return a key made of words, for parts that have none.

    Examples
    --------
    >>> key_of("Were predictions kept?")
    'were-predictions-kept'
    """
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
