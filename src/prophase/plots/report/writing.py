"""Write a report: page, Markdown, JSON, and every figure beside them."""

from __future__ import annotations

import json
from pathlib import Path

from prophase.errors import storage_error
from prophase.plots.page import Picture, write_page
from prophase.plots.page_markdown import render_markdown
from prophase.plots.report.page import report_page
from prophase.plots.style import save
from prophase.study.report.document import to_dict
from prophase.study.report.report import Report

#: folder beside the report that holds its figures
_FIGURES = "figures"


def write_report(report: Report, folder: str | Path, *, name: str = "report") -> Path:
    """Write ``name.html``, ``name.md``, ``name.json`` and ``figures`` and return the page's path.

    The page holds its figures itself; the files beside it are for slides and for Markdown.
    In a workspace, ``workspace/reports/some-name`` is the folder where the dashboard looks.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_report(Report("Sizing", question="How much?"), folder).name
    'report.html'
    """
    folder = Path(folder)
    page = report_page(report)
    names = [
        figure
        for finding in report.findings
        for figure in (
            *(chart.name for chart in finding.charts if chart.rows),
            *(name for name, _, _ in finding.figures),
        )
    ]
    drawn = [
        block.figure
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Picture)
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure_name, figure in zip(names, drawn, strict=True):
            save(figure, folder / _FIGURES, figure_name)
        links = {place: f"{_FIGURES}/{figure}.png" for place, figure in enumerate(names)}
        _replace(folder / f"{name}.md", render_markdown(page, links))
        document = json.dumps(to_dict(report), indent=1, ensure_ascii=False, allow_nan=False)
        _replace(folder / f"{name}.json", document + "\n")
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    target = folder / f"{name}.html"
    write_page(page, target)
    return target


def _replace(target: Path, text: str) -> None:
    """Write a file; an old one goes only when the new one is complete."""
    part = target.with_name(target.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(target)
