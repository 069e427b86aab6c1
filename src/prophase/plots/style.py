"""How every figure looks: sizes, fonts, colours, axes, and how it gets into a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import matplotlib as mpl
import pandas as pd
from cycler import cycler
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from prophase.errors import storage_error
from prophase.json_types import JsonObject
from prophase.result.colours import COLOURS as COLOURS
from prophase.result.colours import DARK as DARK
from prophase.result.colours import GRID as GRID
from prophase.result.colours import INK as INK
from prophase.result.colours import MUTED as MUTED
from prophase.result.colours import PAPER as PAPER
from prophase.result.colours import css_name

#: dashes tell lines apart where colour cannot: in print
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 1)))

WIDTH_IN, HEIGHT_IN = 6.0, 3.5
#: how the id of an artist begins that has something to say, and how SVG then writes its group
_TIP = "tip:"
_TIPS = re.compile(rf'<g id="{_TIP}([^"]*)">')
#: typed loosely: matplotlib's own type lists every setting by name
_RC: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=list(COLOURS)),
    "figure.facecolor": PAPER,
    "figure.constrained_layout.use": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "lines.linewidth": 1.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
}

_TIME_TICKS = (
    (1e-3, "1 ms"),
    (1e-2, "10 ms"),
    (0.1, "0.1 s"),
    (1, "1 s"),
    (10, "10 s"),
    (60, "1 min"),
    (600, "10 min"),
    (3600, "1 h"),
    (36000, "10 h"),
    (86400, "1 d"),
    (864000, "10 d"),
    (8640000, "100 d"),
)


@contextmanager
def styled() -> Iterator[None]:
    """Draw in our style inside this block, and leave the user's settings alone."""
    with mpl.rc_context(_RC):
        yield


@contextmanager
def canvas(width_in: float, height_in: float) -> Iterator[Figure]:
    """Draw in our style on a figure of this size inside the block.

    Figures belong to no window and no global list: they go when nobody holds them.
    """
    with styled():
        figure = Figure(figsize=(width_in, height_in))
        FigureCanvasAgg(figure)
        yield figure


def draw(
    paint: Callable[[Axes], object],
    *,
    title: str = "",
    width_in: float = WIDTH_IN,
    height_in: float = HEIGHT_IN,
) -> Figure:
    """Return a figure with one pair of axes that ``paint`` has drawn on."""
    with canvas(width_in, height_in) as figure:
        axes = figure.add_subplot()
        paint(axes)
        if title:
            axes.set_title(title)
    return figure


def time_axis(axis: Any, low: float, high: float) -> None:
    """Make an axis of seconds logarithmic, with ticks at 1 s, 1 min, 1 h, 1 d."""
    axes = axis.axes
    (axes.set_xscale if axis.axis_name == "x" else axes.set_yscale)("log")
    low, high = max(low, 1e-4), max(high, 2e-4)
    if high / low < 10:
        low, high = low / 3, high * 3
    (axes.set_xlim if axis.axis_name == "x" else axes.set_ylim)(low, high)
    inside = [(at, word) for at, word in _TIME_TICKS if low <= at <= high]
    # 10 s, 10 min and 10 h only fit when few others are there
    if len(inside) > 7:
        inside = [pair for pair in inside if not pair[1].startswith("10")]
    axis.set_major_locator(FixedLocator([at for at, _ in inside]))
    words = dict(inside)
    axis.set_major_formatter(FuncFormatter(lambda at, _: words.get(at, f"{at:g}")))
    axis.set_minor_locator(NullLocator())


def count_axis(axis: Any) -> None:
    """Write counts with separated thousands, at whole numbers."""
    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,.0f}" if at >= 1 else f"{at:g}"))


def percent_axis(axis: Any, *, whole: bool = True) -> None:
    """Write shares 0..1 as percent."""
    axis.set_major_formatter(FuncFormatter(lambda at, _: f"{100 * at:.0f} %"))
    if whole:
        (axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim)(0, 1.02)


def legend(axes: Axes, **options: Any) -> None:
    """Add a legend if there is something to tell apart."""
    if len(axes.get_legend_handles_labels()[0]) > 1:
        axes.legend(**{"loc": "best", **options})


def legend_below(axes: Axes) -> None:
    """Add a legend under the axes, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) > 1 and axes.figure is not None:
        axes.figure.legend(
            handles, labels, loc="outside lower center", ncols=2 if len(labels) in (2, 4) else 3
        )


def line_style(place: int) -> JsonObject:
    """Return colour and dash of the n-th line."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[place % len(DASHES)],
    }


def note(
    axes: Axes,
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float] = (0, 0),
    size: float = 8,
    **look: Any,
) -> None:
    """Write beside a place, so many points of type away from it."""
    look = {"color": MUTED, **look}
    axes.annotate(text, at, xytext=offset, textcoords="offset points", fontsize=size, **look)


def tooltip(artist: Artist, text: str) -> None:
    """Let an artist say a text where a pointer rests on it, in SVG."""
    artist.set_gid(f"{_TIP}{quote(text, safe='')}")


def save_table(table: pd.DataFrame, target: Path, **options: Any) -> None:
    """Write a table as CSV, or say why it cannot be."""
    try:
        table.to_csv(target, **{"index": False, **options})
    except OSError as cause:
        raise storage_error(cause, target.parent) from cause


def to_svg(figure: Figure, *, name: str, inline: bool = False) -> str:
    """Return a figure as SVG text, the same bytes every time.

    ``inline`` is for pages: the text stays text, and colours become CSS variables, so that
    the page's dark mode reaches into the figure.
    """
    settings: Any = {"svg.hashsalt": name, "svg.fonttype": "none" if inline else "path"}
    out = io.StringIO()
    with mpl.rc_context({**_RC, **settings}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = _TIPS.sub(_titled, out.getvalue())
    return _for_a_page(text, name) if inline else text


def _titled(found: re.Match[str]) -> str:
    return f"<g><title>{escape(unquote(found[1]))}</title>"


def _for_a_page(text: str, name: str) -> str:
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace("<svg", '<svg aria-hidden="true"', 1)
    # ids are per document, and a page holds many figures
    svg = re.sub(r'id="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'"#([^"]+)"', rf'"#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", "var(--font)", svg)
    for colour in DARK:
        svg = svg.replace(colour, f"var({css_name(colour)})")
    return svg


def save(
    figure: Figure, folder: Path, name: str, *, formats: Sequence[str] = ("png", "svg")
) -> None:
    """Write a figure into a folder under its name, once per format."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for ending in formats:
            target = folder / f"{name}.{ending}"
            if ending == "svg":
                target.write_text(to_svg(figure, name=name), encoding="utf-8")
            else:
                with mpl.rc_context(_RC):
                    figure.savefig(target, dpi=160)
            _keep_layout(figure)
    except OSError as cause:
        raise storage_error(cause, folder) from cause


def _keep_layout(figure: Figure) -> None:
    """Leave everything where it was drawn: finding the places takes as long as drawing."""
    with mpl.rc_context({"figure.constrained_layout.use": False, "figure.autolayout": False}):
        figure.set_layout_engine(None)
