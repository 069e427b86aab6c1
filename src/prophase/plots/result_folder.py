"""Write every page, table and figure below a folder again, from the results kept there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from prophase.errors import ProphaseError, storage_error
from prophase.json_types import JsonObject
from prophase.plots.result_files import write_report
from prophase.plots.sweep import write_sweep
from prophase.result.json_form import FORMAT, read_result
from prophase.sim.sweep.results import TOLD, is_sweep, read_sweep


@dataclass(frozen=True)
class Redrawn:
    """One result that was written again, or why it was not."""

    result: str
    kind: str
    page: str
    problem: str = ""

    def to_dict(self) -> JsonObject:
        """Return the fields as JSON knows them."""
        return asdict(self)


def redraw(
    folder: str | Path, *, show: Callable[[Path], None] = lambda path: None
) -> list[Redrawn]:
    """Write all reports and sweeps below a folder again; damaged ones are named and passed over.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from prophase.result import Result
    >>> with TemporaryDirectory() as results:
    ...     page = write_report(Result("sizing", "Sizing"), Path(results, "one"))
    ...     page.unlink()
    ...     found = redraw(results)
    ...     found[0].kind, page.exists()
    ('report', True)
    """
    found = []
    for path in _results(Path(folder)):
        show(path)
        where = str(path.parent.relative_to(folder)) if path.parent != Path(folder) else "."
        kind = "sweep" if path.name == TOLD else "report"
        page = path.parent / ("report.html" if kind == "sweep" else f"{path.stem}.html")
        try:
            if kind == "sweep":
                write_sweep(read_sweep(path.parent), path.parent)
            else:
                write_report(read_result(path), path.parent, name=path.stem)
            found.append(Redrawn(where, kind, str(page)))
        except ProphaseError as cause:
            found.append(Redrawn(where, kind, "", str(cause)))
    return found


def _results(folder: Path) -> Iterator[Path]:
    """Yield what the results below a folder can be drawn from; a sweep draws its own report."""
    try:
        files = sorted(folder.rglob("*.json"))
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    for path in files:
        if is_sweep(path.parent):
            if path.name == TOLD:
                yield path
        elif path.name == "report.json" or _is_report(path):
            yield path


def _is_report(path: Path) -> bool:
    """Tell whether a JSON file under another name is a report whose page lies beside it."""
    if not path.with_suffix(".html").exists():
        return False
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT
