"""Run the paper on whatever data is there, one verdict per table, figure and main sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from prophase.papers.claims import PublishedClaim
from prophase.papers.polaris.classifier_claims import classifier_items, table_v_items
from prophase.papers.polaris.cluster_claims import grid_items, paper_profiler, profile_items
from prophase.papers.polaris.data_claims import (
    clusterability_items,
    fixed_label_items,
    recurrence_items,
    sample_items,
)
from prophase.papers.polaris.duration_claims import prediction_items, printed_error_items
from prophase.papers.polaris.paper_data import find_inputs

Progress = Callable[[int, int], None]


def reproduce(
    data: Path | str | None = None, *, random_state: int = 0, progress: Progress | None = None
) -> list[PublishedClaim]:
    """Return every checked claim of the paper with our number and a verdict.

    Parameters
    ----------
    data : path, optional
        Folder with the authors' rows, grid or printed errors (any of them), or a workspace.
        Without it, a synthetic trace; claims about the real one then need data.
    """
    inputs = find_inputs(data, random_state=random_state)
    profiler = paper_profiler(inputs)
    steps: list[Callable[[], Iterator[PublishedClaim]]] = [
        lambda: recurrence_items(inputs),
        lambda: sample_items(inputs),
        lambda: clusterability_items(inputs),
        lambda: fixed_label_items(inputs, profiler),
        lambda: grid_items(inputs),
        lambda: profile_items(inputs, profiler),
        table_v_items,
        lambda: classifier_items(inputs, profiler, random_state=random_state),
        lambda: printed_error_items(inputs),
        lambda: prediction_items(inputs, random_state=random_state),
    ]
    found: list[PublishedClaim] = []
    for number, step in enumerate(steps):
        if progress is not None:
            progress(number, len(steps))
        found += step()
    if progress is not None:
        progress(len(steps), len(steps))
    return found
