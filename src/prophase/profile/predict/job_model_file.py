"""Model files of predictions: the same answers after loading, or a refusal that says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from prophase.errors import ModelFileError
from prophase.json_types import JsonObject
from prophase.modelfile import Model, load_model, save_model
from prophase.profile.predict.memory import Floats
from prophase.profile.predict.missing_columns import Exemplars
from prophase.profile.predict.packed_objects import Packer, Unpacker
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.seen_values import SeenValues

KIND = "profile.predict"
#: raised when what the tree of a model holds changes its meaning
LAYOUT = 2
_PROBES = 8


class JobModelParts(NamedTuple):
    """What a file of predictions holds: the fields of a ``JobModel``, in their order."""

    predictors: Mapping[str, Predictor]
    method: str
    jobs: int
    data_hash: str
    random_state: int
    notes: tuple[str, ...]
    seen: SeenValues
    exemplars: Exemplars


def save_job_model(model: JobModelParts, path: Path | str, *, columns: Sequence[str]) -> str:
    """Write a model to one file and return its checksum.

    Answers to a few probes are kept with it, so that loading can prove itself right.
    """
    packer = Packer()
    meta: JsonObject = {
        "layout": LAYOUT,
        "method": model.method,
        "jobs": model.jobs,
        "notes": list(model.notes),
        "targets": list(model.predictors),
        "seen": packer.pack(model.seen),
        "exemplars": packer.pack(model.exemplars),
        "predictors": [packer.pack(predictor) for predictor in model.predictors.values()],
        "probes": [packer.pack(_probe(predictor)) for predictor in model.predictors.values()],
    }
    return save_model(
        path,
        kind=KIND,
        meta=meta,
        arrays=packer.arrays,
        blobs=packer.blobs,
        columns=columns,
        data_hash=model.data_hash,
        seed=model.random_state,
    )


def load_job_model(path: Path | str) -> JobModelParts:
    """Return the parts of a model that answers as the one that was saved."""
    held = load_model(path, kind=KIND)
    layout = held.meta.get("layout")
    if layout != LAYOUT:
        raise ModelFileError(
            f"{path}: was written with layout {layout} by Prophase {held.version}; this version "
            f"reads layout {LAYOUT}. Learn the model again with: prophase learn"
        )
    try:
        return _made(held)
    except (ModelFileError, KeyError, TypeError, ValueError, AttributeError, IndexError) as cause:
        raise ModelFileError(
            f"{path}: the model cannot be put together again: {cause}. It was written by Prophase "
            f"{held.version}. Learn it again with: prophase learn"
        ) from cause


def _made(held: Model) -> JobModelParts:
    unpacker = Unpacker(held.arrays, held.blobs)
    meta = held.meta
    predictors = {}
    for target, packed, probe in zip(
        meta["targets"], meta["predictors"], meta["probes"], strict=True
    ):
        predictor = unpacker.unpack(packed)
        if not isinstance(predictor, Predictor) or predictor.target_ != target:
            raise ModelFileError(f"its part for {target} is something else")
        # machines differ in the last bits of a logarithm, and in no more
        if not np.allclose(_probe(predictor), unpacker.unpack(probe), rtol=1e-6, equal_nan=True):
            raise ModelFileError(f"its answers for {target} are not those it was saved with")
        predictors[target] = predictor
    return JobModelParts(
        predictors,
        meta["method"],
        meta["jobs"],
        held.data_hash,
        held.seed or 0,
        tuple(meta["notes"]),
        unpacker.unpack(meta["seen"]),
        unpacker.unpack(meta["exemplars"]),
    )


def _probe(predictor: Predictor) -> Floats:
    """Return what a predictor says of a few jobs with keys of its own history."""
    history = predictor.history_
    rows = np.unique(np.linspace(0, len(history) - 1, _PROBES).astype(np.intp))
    keys = tuple(np.sort(memory.rows()[0])[rows] for memory in history.memories)
    question = replace(history.ask(pd.DataFrame(index=range(len(rows)))), keys=keys)
    answer = predictor._answer(question, history.recall(question))
    return np.stack([answer.point, answer.low, answer.high])
