"""Write a result: page, Markdown, JSON, and every figure beside them."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from prophase.atomic_files import write_whole
from prophase.plots.charts import draw_chart
from prophase.plots.style import save, to_svg
from prophase.result import html, markdown
from prophase.result.blocks import Picture
from prophase.result.chart import Chart
from prophase.result.document import Result
from prophase.result.json_form import to_dict

#: folder beside the report that holds its figures
_FIGURES = "figures"


def page_html(result: Result, drawn: Mapping[str, Figure] | None = None) -> str:
    """Return the page of a result with its figures; ``drawn`` holds those that are there."""
    known = drawn or {}

    def draw(block: Chart | Picture, name: str) -> str:
        figure = known.get(block.key) or figure_of(block)
        if isinstance(block, Chart):
            # drawn for a phone, too: letters of a figure that is only made smaller cannot be read
            wide = to_svg(figure, name=name, inline=True)
            narrow = to_svg(draw_chart(block, narrow=True), name=f"{name}n", inline=True)
            return f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'
        if not block.as_bitmap:
            return to_svg(figure, name=name, inline=True)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=160, metadata={"Software": None})
        data = base64.b64encode(out.getvalue()).decode()
        return f'<img alt="" src="data:image/png;base64,{data}">'

    return html.render(result, draw)


def write_page(result: Result, target: Path) -> None:
    """Write the page; an old one is replaced only when the new one is complete."""
    write_whole(target, page_html(result))


def write_report(result: Result, folder: str | Path, *, name: str = "report") -> Path:
    """Write ``name.html``, ``name.md``, ``name.json`` and ``figures`` and return the page's path.

    The page holds its figures itself; the files beside it are for slides and for Markdown.
    In a workspace, ``workspace/reports/some-name`` is the folder where the dashboard looks.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_report(Result("sizing", "Sizing", question="How much?"), folder).name
    'report.html'
    """
    folder = Path(folder)
    sections = result.all_sections()
    drawn = {block.key: figure_of(block) for one in sections for block in one.figures}
    for key, figure in drawn.items():
        save(figure, folder / _FIGURES, key)
    files = {key: f"{_FIGURES}/{key}.png" for key in drawn}
    write_whole(folder / f"{name}.md", markdown.render(result, files))
    document = json.dumps(to_dict(result), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(folder / f"{name}.json", document + "\n")
    target = folder / f"{name}.html"
    write_whole(target, page_html(result, drawn))
    return target


def write_figures(result: Result, folder: Path) -> list[str]:
    """Write every figure of a result as PNG and SVG and return their names."""
    blocks = [block for section in result.all_sections() for block in section.figures]
    for block in blocks:
        save(figure_of(block), folder, block.key)
    return [block.key for block in blocks]


def figure_of(block: Chart | Picture) -> Figure:
    """Return the figure of a picture, or draw that of a chart."""
    if isinstance(block, Chart):
        return draw_chart(block)
    assert isinstance(block.figure, Figure)
    return block.figure
