"""Records in JSON as a table: one object a line, a list of objects, or an object that holds one."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from prophase.errors import FormatError
from prophase.json_types import JsonObject
from prophase.trace.source_files import open_bytes, plain_name

#: names of files that hold an object a line
LINES = ("*.jsonl", "*.ndjson")


def is_json(path: Path) -> bool:
    """Return whether a file is JSON by its name."""
    return plain_name(path).endswith((".json", ".jsonl", ".ndjson"))


def flat_records(path: Path) -> Iterator[dict[str, str]]:
    """Yield the records of a file; what is nested gets names such as ``resources.gpu``.

    Examples
    --------
    >>> file = getfixture("tmp_path") / "jobs.jsonl"
    >>> file.write_text('{"id": 1, "ask": {"gpu": 2}}\\n{"id": 2, "tags": ["a", "b"]}\\n')
    59
    >>> list(flat_records(file))
    [{'id': '1', 'ask.gpu': '2'}, {'id': '2', 'tags': '["a", "b"]'}]
    """
    for record in _records(path):
        yield dict(_flat(record, ""))


def as_csv(path: Path, target: Path) -> Path:
    """Write the records of a file as a text table to ``target``, unless that was done before."""
    if not target.exists():
        names = dict.fromkeys(name for record in flat_records(path) for name in record)
        part = target.with_name(f"{target.name}.part")
        with part.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, [*names], restval="")
            writer.writeheader()
            writer.writerows(flat_records(path))
        part.rename(target)
    return target


def _records(path: Path) -> Iterator[JsonObject]:
    with open_bytes(path) as stream:
        number, first = _first_line(stream)
        try:
            found = json.loads(first)
        except ValueError:
            found = None
        if not isinstance(found, dict) or _held(found) is not None:
            yield from _whole(path)
            return
        yield found
        for line in stream:
            number += 1
            if line.strip():
                yield _line(line, f"{path} line {number}")


def _first_line(stream: Iterator[bytes]) -> tuple[int, bytes]:
    for number, line in enumerate(stream, 1):
        if line.strip():
            return number, line
    return 0, b""


def _line(line: bytes, place: str) -> JsonObject:
    try:
        found = json.loads(line)
    except ValueError as cause:
        raise FormatError(f"{place}: is not JSON: {cause}. Export the file again.") from cause
    if not isinstance(found, dict):
        raise FormatError(f"{place}: is JSON, but no object with the fields of a job.")
    return found


def _whole(path: Path) -> list[JsonObject]:
    try:
        with open_bytes(path) as stream:
            found = json.load(stream)
    except ValueError as cause:
        raise FormatError(f"{path}: is not JSON: {cause}. Export the file again.") from cause
    held = _held(found) if isinstance(found, dict) else found
    if not isinstance(held, list) or not all(isinstance(one, dict) for one in held):
        raise FormatError(
            f"{path}: is JSON, but no list of objects, one a job. Write one object a line."
        )
    return held


def _held(found: JsonObject) -> list[JsonObject] | None:
    """Return the longest list of objects that an object holds, if it holds one."""
    lists = [v for v in found.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
    return max(lists, key=len, default=None) if len(found) <= 5 else None


def _flat(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, held in value.items():
            yield from _flat(held, f"{name}.{key}" if name else str(key))
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
