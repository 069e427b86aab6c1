"""prophase reproduce all: every source, its page, and a page that leads to them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import typer

from prophase.cli.output import Format, emit, finite, plain, say, typed_command
from prophase.cli.reproduce_sources import RUNNERS
from prophase.cli.reproduced import Reproduced
from prophase.errors import ProphaseError

_CACHE = ".cache"
_VERDICTS = ("reproduced", "contradicted", "needs data", "in kind", "differs in kind")


def reproduce_all(out: Path, workers: int | str, format: Format, *, again: bool) -> None:
    """Run every source that has changed, write its report, and list how it went."""
    rows: list[dict[str, Any]] = []
    failures: dict[str, str] = {}
    differing = 0
    for name in RUNNERS:
        try:
            found, fresh = _found(name, out, workers, again=again)
            page = found.write(out)
        except Exception as cause:
            # one source that fails is named; the others are worth having
            failures[name] = f"{cause}" if isinstance(cause, ProphaseError) else repr(cause)
            say(f"{name}: cannot be run. {failures[name]}")
            continue
        say(f"{name}: {page}" if fresh else f"{name}: {page}, as before; --again runs it anew")
        differing += found.differing
        counts = {word.replace(" ", "_"): found.counts.get(word, 0) for word in _VERDICTS}
        rows.append({"source": name, "data": found.kind, **counts, "report": str(page)})
    index = _index(out, rows, failures)
    remarks = [f"{name} failed: {words}" for name, words in failures.items()]
    document = {"sources": rows, "differing": differing, "failed": failures, "page": str(index)}
    emit(rows, format, document=document, remarks=[*remarks, f"Open {index}"])
    if differing or failures:
        raise typer.Exit(1)


def _found(name: str, out: Path, workers: int | str, *, again: bool) -> tuple[Reproduced, bool]:
    """Return what comes out of a source, and whether it had to be run for that."""
    from prophase.study.loop.cache import StepCache, key_of
    from prophase.study.reproducing import data_of

    data = data_of(name)
    cache, key = StepCache(out / _CACHE), key_of(name, {"data": _fingerprint(name, data)})
    held = None if again else cache.get(name, key)
    if held is not None:
        return Reproduced(name, data, {}, held["rows"], held["also"]), False
    say(f"{name} ...")
    found = Reproduced.run(name, None, {}, workers)
    kept = {"rows": finite(found.rows), "also": finite(found.also)}
    cache.put(name, key, json.loads(json.dumps(kept, default=plain)))
    return found, True


def _fingerprint(name: str, data: Path | None) -> list[tuple[str, int, int]]:
    """Return names, sizes and times of the files that a source reads."""
    from prophase.study.reproducing import SOURCES
    from prophase.study.reproducing.related import beside

    if data is None:
        return []
    source = SOURCES[name]
    folders = [data / one for one in source.folders] if len(source.folders) > 1 else [data]
    folders += [one for related in source.related if (one := beside(data, related)) is not None]
    files = sorted(
        Path(root, file)
        for folder in folders
        for root, _, names in os.walk(folder)
        for file in names
    )
    return [(str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in files]


def _index(out: Path, rows: list[dict[str, Any]], failures: dict[str, str]) -> Path:
    """Write the page that leads to the others."""
    from prophase import __version__
    from prophase.plots.page import Callout, Links, Page, Paragraph, Section, Table, write_page
    from prophase.study.reproducing import SOURCES

    lines = [
        {"source": SOURCES[row["source"]].title, "data": row["data"],
         **{word: row[word.replace(" ", "_")] for word in _VERDICTS}}
        for row in rows
    ]  # fmt: skip
    links = [(SOURCES[row["source"]].title, f"{row['source']}/report.html") for row in rows]
    lost = [Callout(words, "bad", f"{name} could not be run") for name, words in failures.items()]
    total = sum(sum(int(row[word.replace(" ", "_")]) for word in _VERDICTS) for row in rows)
    page = Page(
        "Published results, run again",
        [Section("Sources", [Table(lines), Links(links)])],
        subtitle="Do the numbers of the papers and programs behind Prophase come out again?",
        lead=[
            *lost,
            Paragraph(
                f"{total} statements of {len(rows)} sources. Reproduced and contradicted are said "
                "of a source's own inputs only; in kind, of other data than the printed numbers "
                "were made from. Each page lists every table and figure with its command."
            ),
        ],
        about={"command": typed_command(), "version": f"prophase {__version__}"},
    )
    target = out / "index.html"
    write_page(page, target)
    return target
