"""The colours of every figure and page, on light and on dark paper."""

from __future__ import annotations

INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#d8dee4", "#ffffff"
#: Okabe and Ito's colours, told apart by people with any kind of colour blindness; black and
#: yellow are left out because they vanish on dark or light paper
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f6bb3", "#8c6d31")
#: what each colour becomes on dark paper
DARK = {
    INK: "#e6edf3",
    MUTED: "#9198a1",
    GRID: "#3d444d",
    PAPER: "#151b23",
    "#0072b2": "#4ea3dd",
    "#d55e00": "#f2823a",
    "#009e73": "#33c69a",
    "#cc79a7": "#e09ac2",
    "#e69f00": "#f0b429",
    "#56b4e9": "#8fd0f5",
    "#7f6bb3": "#a896d6",
    "#8c6d31": "#bf9f5f",
}


def css_name(colour: str) -> str:
    """Return the CSS variable that stands for a colour of ours."""
    return f"--c{colour.removeprefix('#')}"
