"""Figures of a profile classifier: confusion, importance, SHAP over jobs and of one, a tree."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from prophase.plots.profiles.labels import OUTLIER_COLOUR
from prophase.plots.style import COLOURS, INK, MUTED, PAPER, draw, note, save, save_table
from prophase.profile.classify.classifier_comparison import ClassifierScores
from prophase.profile.classify.explanation import JobExplanation, ShapSummary, SplitNode
from prophase.result.short_names import short, short_names

_BLUES = LinearSegmentedColormap.from_list("share", [PAPER, COLOURS[5], COLOURS[0]])
#: with more profiles than this, cells are too small for numbers
_MOST_NUMBERED = 45


def confusion_matrix(report: ClassifierScores, about: str = "") -> Figure:
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
        axes.set_xticks(range(len(names)), short_names(list(names), 12), fontsize=8)
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


def write_confusion(report: ClassifierScores, folder: Path, about: str = "") -> None:
    """Write the figure, and its counts as CSV beside it."""
    save(confusion_matrix(report, about), folder, "confusion")
    save_table(report.confusion, folder / "confusion.csv", index=True, index_label="profile")


#: profiles with a colour of their own in the stacked bars
_MOST_PROFILES = 7


def importance_bars(table: pd.DataFrame) -> Figure:
    """Draw the share of the gain of each value, with the number of its splits."""
    shown = table.iloc[::-1]
    names = _value_names(f"{c}={v}" for c, v in shown[["column", "value"]].to_numpy())

    def paint(axes: Axes) -> None:
        shares = shown["total_gain_pct"].to_numpy(float)
        axes.barh(range(len(names)), shares, color=COLOURS[0], height=0.7)
        for place, (share, weight) in enumerate(zip(shares, shown["weight"], strict=True)):
            note(axes, f"{int(weight)} splits", (share, place), (4, 0), 7.5, va="center")
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlim(0, 1.16 * max(float(shares.max(initial=0)), 1e-9))
        axes.set_xlabel("share of the gain of all splits, %")
        axes.grid(visible=False, axis="y")

    return draw(paint, title="What the trees split on", height_in=_tall(len(names)), width_in=7.0)


def shap_bars(summary: ShapSummary) -> Figure:
    """Draw the mean absolute SHAP value of each value, stacked by profile (the paper's Fig.)."""
    shown = summary.per_profile.iloc[::-1]
    order = shown.sum(axis=0).sort_values(ascending=False, kind="stable").index
    named, others = order[:_MOST_PROFILES], order[_MOST_PROFILES:]
    names = _value_names(map(str, shown.index))

    def paint(axes: Axes) -> None:
        left = np.zeros(len(names))
        for place, profile in enumerate(named):
            values = shown[profile].to_numpy(float)
            axes.barh(
                range(len(names)), values, left=left, height=0.7,
                color=COLOURS[place], label=f"profile {short(str(profile), 16)}",
            )  # fmt: skip
            left += values
        if len(others):
            rest = shown[others].sum(axis=1).to_numpy(float)
            axes.barh(
                range(len(names)), rest, left=left, height=0.7,
                color=MUTED, label=f"{len(others)} others",
            )  # fmt: skip
        axes.margins(x=0.05)
        axes.set_xlim(left=0)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlabel(f"mean absolute SHAP value over {summary.jobs:,} jobs, log-odds")
        axes.grid(visible=False, axis="y")
        axes.legend(loc="lower right", fontsize=8)

    tall = _tall(len(names))
    return draw(paint, title="What distinguishes profiles", height_in=tall, width_in=7.0)


def job_bars(found: JobExplanation, job: str) -> Figure:
    """Draw what pushed one job towards its profile, and what away from it."""
    shown = found.pushes.iloc[::-1]
    names = [
        short(f"{column} = {value}" if value is not None else f"no {column}", 34)
        for column, value in shown[["column", "value"]].to_numpy()
    ]

    def paint(axes: Axes) -> None:
        pushes = shown["push"].to_numpy(float)
        colours = [COLOURS[0] if push >= 0 else COLOURS[1] for push in pushes]
        axes.barh(range(len(names)), pushes, color=colours, height=0.6)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        reach = 1.25 * max(float(np.abs(pushes).max(initial=0)), 0.1)
        # room for the number left of a bar
        least = float(pushes.min(initial=0))
        axes.set_xlim(least - 0.14 * reach if least < 0 else -0.02 * reach, reach)
        for place, push in enumerate(pushes):
            note(
                axes,
                f"{push:+.2f}",
                (push, place),
                (4 if push >= 0 else -4, 0),
                va="center",
                ha="left" if push >= 0 else "right",
            )
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlabel(f"push towards profile {found.profile}, log-odds")
        axes.grid(visible=False, axis="y")

    told = f"Job {short(job, 16)}: profile {found.profile}, probability {found.probability:.2f}"
    return draw(paint, title=told, height_in=1.4 + 0.34 * len(names), width_in=7.0)


#: inches from a question to the next, and between leaves
_DEEPER_IN, _APART_IN = 2.3, 0.32


def tree_figure(root: SplitNode, profile: str, tree: int) -> Figure:
    """Draw a tree from left to right: questions, and what leaves add to the log-odds."""
    leaves: list[float] = []
    depths = [0]

    def paint_node(axes: Axes, node: SplitNode, depth: int) -> float:
        """Draw a node behind its branches, and return its height."""
        depths.append(depth)
        if not node.branches:
            leaves.append(node.value)
            height = float(len(leaves))
            colour = COLOURS[0] if node.value >= 0 else COLOURS[1]
            axes.text(depth, height, f" {node.words}", color=colour, va="center", fontsize=8)
            return height
        heights = [paint_node(axes, branch, depth + 1) for branch in node.branches]
        height = sum(heights) / len(heights)
        for word, at in zip(("yes", "no"), heights, strict=True):
            axes.plot([depth, depth + 1], [height, at], color=MUTED, linewidth=0.9, zorder=1)
            axes.text(
                depth + 0.6, height + 0.6 * (at - height), word, fontsize=7, color=MUTED,
                ha="center", va="center", backgroundcolor=PAPER, zorder=2,
            )  # fmt: skip
        frame = {"boxstyle": "round,pad=0.3", "facecolor": PAPER, "edgecolor": MUTED}
        axes.text(depth, height, short(node.words, 30), color=INK, ha="center", va="center",
                  fontsize=8, bbox=frame, zorder=3)  # fmt: skip
        return height

    def paint(axes: Axes) -> None:
        paint_node(axes, root, 0)
        axes.set_xlim(-0.5, max(depths) + 0.35)
        axes.set_ylim(len(leaves) + 0.7, 0.3)
        axes.axis("off")

    told = f"Profile {short(profile, 16)}, round {tree}: what each answer adds to the log-odds"
    count, deep = _size_of(root)
    return draw(paint, title=told, width_in=1.6 + _DEEPER_IN * max(deep, 1),
                height_in=1.1 + _APART_IN * max(count, 3))  # fmt: skip


def _size_of(node: SplitNode) -> tuple[int, int]:
    """Return how many leaves a tree has, and how many questions lie before the farthest."""
    if not node.branches:
        return 1, 0
    sizes = [_size_of(branch) for branch in node.branches]
    return sum(leaves for leaves, _ in sizes), 1 + max(deep for _, deep in sizes)


def write_tree(root: SplitNode, profile: str, tree: int, folder: Path) -> str:
    """Write the figure of a tree and return its name."""
    name = f"tree-{profile}-{tree}"
    save(tree_figure(root, profile, tree), folder, name)
    return f"{name}.png"


def write_explanation(
    importance: pd.DataFrame, summary: ShapSummary | None, folder: Path
) -> list[str]:
    """Write the figures over all jobs with their numbers as CSV, and return their names."""
    names = ["importance.png"]
    save(importance_bars(importance), folder, "importance")
    tables = {"importance.csv": importance}
    if summary is not None:
        save(shap_bars(summary), folder, "shap-summary")
        tables["shap-summary.csv"] = summary.per_profile.reset_index(names="value")
        names.append("shap-summary.png")
    for name, table in tables.items():
        save_table(table, folder / name)
    return names


def write_job(found: JobExplanation, job: str, folder: Path) -> str:
    """Write the figure of one job and return its name."""
    save(job_bars(found, job), folder, "shap-job")
    return "shap-job.png"


def _value_names(words: Iterable[str]) -> list[str]:
    """Return column=value as it stands beside an axis: the column whole, a long value cut."""
    pairs = (word.partition("=") for word in words)
    return [f"{column} = {short(value, 22)}" for column, _, value in pairs]


def _tall(rows: int) -> float:
    return 1.3 + 0.27 * max(rows, 3)
