"""How raw files are to be read when nobody says it: by a reader that knows them, or by a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from prophase.errors import ParameterError
from prophase.trace.dump import first_line_of
from prophase.trace.mapping.mapping_proposal import usable_mapping
from prophase.trace.reader import all_readers, guess_reader, readers_of
from prophase.trace.readers.sacct_rows import DUMP_COMMAND
from prophase.trace.source_files import files_below


def recognise_source(path: Path, tables: Sequence[str]) -> tuple[str, str | None]:
    """Return the source of raw files, and a mapping in TOML if they are in words of their own.

    Parameters
    ----------
    tables : sequence of str
        Names of tables; a mapping must fill one of them.

    Examples
    --------
    >>> jobs = getfixture("tmp_path") / "jobs.csv"
    >>> jobs.write_text("id,runtime (s),mem_req_gb\\n1,60,8\\n2,70,8\\n")
    40
    >>> source, mapping = recognise_source(jobs, ["jobs"])
    >>> source, "duration_s" in mapping
    ('csv', True)
    """
    try:
        return guess_reader(path).name, None
    except ParameterError:
        _refuse_printed(path)
        return "csv", usable_mapping(path, tables)


def _refuse_printed(path: Path) -> None:
    """Stop at what sacct prints for people: cells are cut to the width of their column."""
    if path.is_file() and re.match(r"\s*JobID(Raw)?\s{2,}\S", first_line_of(path)):
        raise ParameterError(
            f"{path}: is what sacct prints for people, with cells cut to fit and most columns "
            f"left out. Write it as a table instead: {DUMP_COMMAND}"
        )


#: files of a folder that are looked at
_MOST_FILES = 200


def traces_in(folder: Path, source: str) -> dict[str, list[Path]]:
    """Return the traces that files of a folder are part of, each by its source and its name.

    Several logs of one source, each of a cluster of its own, are several traces. Files that no
    reader knows are left out.

    Parameters
    ----------
    source : str
        The source that the folder would be read as; a file that it knows belongs to it.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "sacct.txt").write_text("JobID|State|Submit|Start|End|Elapsed\\n")
    >>> header = "task_id\\thash\\tnative_id\\tname\\tstatus\\texit\\tsubmit\\trealtime\\tpeak_rss"
    >>> _ = (folder / "trace.txt").write_text(header + "\\n")
    >>> {name: [path.name for path in found] for name, found in traces_in(folder, "sacct").items()}
    {'sacct': ['sacct.txt'], 'nextflow': ['trace.txt']}
    """
    if not folder.is_dir():
        return {}
    readers = all_readers()
    traces: dict[str, list[Path]] = {}
    for path in files_below(folder)[:_MOST_FILES]:
        known = readers_of(path)
        if not known and (pattern := readers[source].first_line):
            known = [source] if re.match(pattern, first_line_of(path)) else []
        if known:
            name = source if source in known else known[0]
            own = readers[name].trace_of(path)
            traces.setdefault(f"{name} {own}".strip(), []).append(path)
    return traces
