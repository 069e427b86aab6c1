"""Who was taken for whom: true against answered profiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from prophase.errors import storage_error
from prophase.plots.profiles.words import OUTLIER_COLOUR
from prophase.plots.style import COLOURS, INK, PAPER, draw, save, short
from prophase.profile.classify.scoring import Report

_BLUES = LinearSegmentedColormap.from_list("share", [PAPER, COLOURS[5], COLOURS[0]])
#: with more profiles than this, cells are too small for numbers
_MOST_NUMBERED = 45


def confusion_matrix(report: Report, about: str = "") -> Figure:
    """Draw the confusion matrix in percent of the true profile's jobs.

    Profiles that no answer named are written in orange, jobs per profile beside its name.
    """
    counts = report.confusion.to_numpy(float)
    support = counts.sum(axis=1, keepdims=True)
    percent = np.divide(100 * counts, support, out=np.zeros_like(counts), where=support > 0)
    names = [str(one) for one in report.confusion.index]
    wide = max(5.0, min(16.0, 2.4 + 0.36 * len(names)))

    def paint(axes: Axes) -> None:
        axes.imshow(percent, cmap=_BLUES, vmin=0, vmax=100, aspect="equal")
        if len(names) <= _MOST_NUMBERED:
            for (row, column), value in np.ndenumerate(percent):
                if value >= 0.5:
                    colour = PAPER if value >= 65 else INK
                    axes.text(
                        column, row, f"{value:.0f}", ha="center", va="center", fontsize=7,
                        color=colour,
                    )  # fmt: skip
        rows = [
            f"{short(name, 18)} ({int(n):,})" for name, n in zip(names, support[:, 0], strict=True)
        ]
        axes.set_yticks(range(len(names)), rows, fontsize=8)
        axes.set_xticks(range(len(names)), [short(n, 12) for n in names], fontsize=8)
        if max(map(len, names)) > 3:
            axes.tick_params(axis="x", rotation=90)
        never = {str(one) for one in report.never_predicted}
        for word, name in zip(axes.get_yticklabels(), names, strict=True):
            if name in never:
                word.set_color(OUTLIER_COLOUR)
                word.set_fontweight("bold")
        axes.set_ylabel("true profile (jobs)" + ("; orange: never answered" if never else ""))
        axes.set_xlabel("answered profile; % of the row")
        axes.grid(visible=False)

    told = f"Accuracy {report.accuracy:.1%}" + (f" ({about})" if about else "")
    return draw(paint, title=told, width_in=wide, height_in=max(4.0, wide - 0.6))


def write_confusion(report: Report, folder: Path, about: str = "") -> None:
    """Write the figure, and its counts as CSV beside it."""
    save(confusion_matrix(report, about), folder, "confusion")
    try:
        report.confusion.to_csv(folder / "confusion.csv", index_label="profile")
    except OSError as cause:
        raise storage_error(cause, folder) from cause
