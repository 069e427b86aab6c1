"""AI4DL's two walk-throughs, run again: phases of samples, and a phase split by new behaviour."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from prophase.errors import FormatError, MissingFileError
from prophase.json_types import JsonObject
from prophase.papers.ai4dl.model import AI4DL
from prophase.phase.crbm import CRBM
from prophase.plots.phase_series import plot_series
from prophase.trace.series.usage_series import Floats, Ints

MODEL, GOLDEN = "ai4dl_model.npz", "ai4dl_golden_phases.json"
_EXEC_ID = "pod.id"
#: colours of the phases in the figures of the notebooks
PALETTE = {0: "grey", 1: "green", 2: "blue", 3: "red", 4: "orange"}
_PALETTE_EXPANDED = {**PALETTE, 5: "cyan", 6: "purple", 7: "brown", 8: "olive"}
_CPU, _MEMORY = 1, 7
_NAMES = ("CPU, standard score", "memory, standard score")


def reproduce(
    data: Path, *, figures: Path | None = None, progress: Callable[[int, int], None] | None = None
) -> list[JsonObject]:
    """Label the published samples with the published model, and compare phase by phase.

    Parameters
    ----------
    data : path
        Folder with the samples (CSV), ``ai4dl_model.npz`` and ``ai4dl_golden_phases.json``.
    figures : path, optional
        Folder for the figures of both walk-throughs.

    Returns
    -------
    list of dict
        A row per comparison: ``item``, ``published``, ``ours``, ``verdict``.
    """
    golden = _golden(data)
    rows: list[JsonObject] = []
    parity, corrected = _model(data, "parity"), _model(data, "corrected")
    total = len(golden["as_published"]) + len(golden["corrected"]) + 3
    for model, key, words in (
        (parity, "as_published", "phases as published"),
        (corrected, "corrected", "phases, corrected"),
    ):
        for name, wanted in golden[key].items():
            rows.append(_compared(f"{words}, {name}", _labels(model, data / name), wanted))
            if progress:
                progress(len(rows), total)
    for name, wanted in golden["expanded"].items():
        if name.endswith(".csv"):
            found = _labels(parity, data / name, expanded=True)
            rows.append(_compared(f"phases after splitting, {name}", found, wanted))
    series = corrected.TransformData(data / "sample-dlaas.csv")
    assert corrected.crbm is not None
    theirs = corrected.crbm.reconstruction_error(series)
    network = CRBM(epochs=1000, patience=0, random_state=123).fit(series)
    ours = network.reconstruction_error(series)
    rows.append(
        {
            "item": "reconstruction error, sample-dlaas.csv",
            "claim": "mean length of sample minus reconstruction, our own network",
            "published": f"{theirs:.3f}",
            "ours": f"{ours:.3f}",
            # another network on other samples cannot repeat theirs, but has to be as good
            "verdict": "in kind" if ours <= max(theirs, 0.10) else "DIFFERS",
            "reason": "theirs was learned from 28,948 samples that are not public, ours from the "
            "204 of the file",
        }
    )
    if figures is not None:
        _draw(parity, corrected, data, figures)
        _draw_generated(network, series[0], figures)
    return rows


def _golden(data: Path) -> JsonObject:
    for name in (MODEL, GOLDEN):
        if not (data / name).is_file():
            raise MissingFileError(
                f"{data}: has no {name}. Point to the folder with the AI4DL samples, the model as "
                ".npz and the golden phases."
            )
    try:
        found = json.loads((data / GOLDEN).read_text(encoding="utf-8"))
        if not {"as_published", "corrected", "expanded"} <= set(found):
            raise ValueError("a part is missing")
    except ValueError as cause:
        raise FormatError(f"{data / GOLDEN}: cannot be read ({cause}). Copy it again.") from cause
    return dict(found)


def _model(data: Path, mode: str) -> AI4DL:
    model = AI4DL(mode)
    model.LoadModel(data / MODEL, data / MODEL, data / MODEL)
    model.exec_id = _EXEC_ID
    return model


def _labels(model: AI4DL, path: Path, *, expanded: bool = False) -> dict[str, Ints]:
    found = model.Predict(model.TransformData(path), expanded=expanded)
    return dict(zip(model.transformed, found, strict=True))


def _compared(item: str, found: dict[str, Ints], wanted: JsonObject) -> JsonObject:
    """Count labels that agree, of those that the published ones have."""
    agree = total = 0
    for name, labels in wanted.items():
        if not isinstance(labels, list):
            continue
        right = np.array([-1 if one is None else one for one in labels])
        own = found[name]
        known = right >= 0
        total += int(known.sum())
        # a phase where there should be none is wrong as well
        if len(own) == len(right):
            agree += int((own == right)[known].sum()) - int((own[~known] >= 0).sum())
    return {
        "item": item,
        "published": f"{total:,}",
        "ours": f"{agree:,}",
        "verdict": "equal" if agree == total else "DIFFERS",
    }


def _draw(parity: AI4DL, corrected: AI4DL, data: Path, figures: Path) -> None:
    """Draw both walk-throughs: the notebooks' figures, and the same with correct labels."""
    figures.mkdir(parents=True, exist_ok=True)
    for model, word in ((parity, "published"), (corrected, "corrected")):
        series = model.TransformData(data / "sample.csv")
        phases = model.Predict(series)
        files = [figures / f"1-{word}-{what}.png" for what in ("trace", "variance")]
        model.PrintTrace(series, phases, 0, _CPU, _MEMORY, PALETTE, _NAMES, files[0])
        model.PrintVarAnalysis(series, phases, _CPU, _MEMORY, PALETTE, _NAMES, files[1])
    series = parity.TransformData(data / "sample-vr.csv")
    for expanded, word in ((False, "before"), (True, "after")):
        phases = parity.Predict(series, expanded=expanded)
        palette = _PALETTE_EXPANDED
        files = [figures / f"2-{word}-{what}.png" for what in ("trace", "variance")]
        parity.PrintTrace(series, phases, 0, _CPU, _MEMORY, palette, _NAMES, files[0])
        parity.PrintVarAnalysis(series, phases, _CPU, _MEMORY, palette, _NAMES, files[1])


def _draw_generated(network: CRBM, series: Floats, figures: Path) -> None:
    """Draw an execution, and what the network makes of its first samples."""
    true = series[network.history :]
    made = network.generate(series[: network.history], len(true))
    two = [_CPU, _MEMORY]
    plot_series(
        true[:, two],
        made[:, two],
        names=_NAMES,
        words=("true", "generated"),
        file=figures / "1-generated.png",
    )
