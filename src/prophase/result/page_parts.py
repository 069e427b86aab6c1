"""The parts of a page, in the order in which HTML and Markdown show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prophase.result.blocks import (
    Block,
    Bullets,
    Cards,
    Code,
    Facts,
    Heading,
    Note,
    Section,
    Table,
    Text,
)
from prophase.result.document import DataUsed, NextStep, Provenance, Result
from prophase.result.value_sections import value_facts, value_sections


def lead(result: Result) -> list[Block]:
    """Return what stands before the first section: the answer, and its numbers."""
    blocks: list[Block] = []
    if result.answer:
        blocks.append(Note(result.answer, result.tone, result.word))
    if result.answers:
        if result.front:
            blocks.append(Facts(result.front))
        blocks.append(Cards(result.answers))
    elif facts := result.facts or ([] if result.sections else value_facts(result.values)):
        blocks.append(Facts(facts))
    return blocks


def page_sections(result: Result) -> list[Section]:
    """Return every section: what came out, what to do, how far it reaches, how to repeat it.

    Examples
    --------
    >>> found = page_sections(Result("sizing", "Sizing", limits=["One cluster."]))
    >>> [section.title for section in found]
    ['How far this reaches']
    """
    told = [one for one in result.all_sections() if one.blocks] or list(value_sections(result))
    ending = {
        "next": ("What to do next", _steps(result.next_steps)),
        "reach": ("How far this reaches", _reach(result)),
        "origin": ("Data and method", _origin(result)),
        "again": ("How to get the same again", _again(result.provenance)),
    }
    made = [Section(key, title, list(blocks)) for key, (title, blocks) in ending.items()]
    return told + [section for section in made if section.blocks]


def about(result: Result) -> dict[str, str]:
    """Return what tells this result from another: version, command, seeds, data."""
    again = result.provenance
    hashes = list(dict.fromkeys(data.data_hash for data in result.data if data.data_hash))
    told = {"data hash": ", ".join(hashes)}
    if again is not None:
        seeds = ", ".join(f"{seed} ({name})" for name, seed in again.seeds.items())
        version = f"prophase {again.version}"
        told = {"version": version, "command": again.command, "seed": seeds, **told, **again.about}
    return {name: text for name, text in told.items() if text}


def _steps(steps: Sequence[NextStep]) -> Iterator[Block]:
    for step in steps:
        yield Text(step.text)
        if step.command:
            yield Code(step.command)


def _reach(result: Result) -> Iterator[Block]:
    parts: tuple[tuple[Sequence[str], Heading], ...] = (
        (result.valid_for, Heading("Valid for", "good")),
        (result.not_valid_for, Heading("Not valid for", "warning")),
        (result.limits, Heading("Limits")),
    )
    for words, heading in parts:
        if words:
            yield heading
            yield Bullets(words)


def _origin(result: Result) -> Iterator[Block]:
    if result.method:
        yield Bullets(result.method)
    if result.data:
        yield Table("data", [_data_row(data) for data in result.data], "Data")
    dropped = [
        {"data": data.name, "left out for": reason, "rows": rows}
        for data in result.data
        for reason, rows in data.dropped.items()
    ]
    if dropped:
        yield Table("left_out", dropped, "What was left out")
    notes = [f"{data.name}: {data.note}" for data in result.data if data.note]
    if notes:
        yield Bullets(notes)


def _data_row(data: DataUsed) -> dict[str, object]:
    row = {"data": data.name, "rows": data.rows, "kind": data.kind, "hash": data.data_hash[:16]}
    return {key: value for key, value in row.items() if value not in ("", None)}


def _again(provenance: Provenance | None) -> Iterator[Block]:
    if provenance is None or not provenance.command:
        return
    yield Code(provenance.command)
    kept = {
        **{f"seed of {name}": seed for name, seed in provenance.seeds.items()},
        **provenance.settings,
    }
    if kept:
        rows = [{"setting": name, "value": str(value)} for name, value in kept.items()]
        yield Table("settings", rows, "Settings")
