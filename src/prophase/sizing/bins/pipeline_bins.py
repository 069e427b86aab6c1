"""PipelineBins: the trained bins of every task of a pipeline, with their transforms, in one file.

A task whose runs can be told apart has a tuned classifier of bins; others have one static request,
or keep theirs. What describes a run is what every sizer is told before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from prophase.errors import ModelFileError
from prophase.json_types import JsonObject
from prophase.modelfile import Parts, load_model, save_model
from prophase.sizing.bins.bin_predictor import BinPredictor
from prophase.sizing.replays.task_runs import Track, known_before
from prophase.sizing.resources import RESOURCES
from prophase.sizing.sizer import (
    GROWTH,
    Features,
    OnlineSizer,
    code_of,
    request_of,
    request_or_plenty,
)

KIND = "sizing.pipeline-bins"
#: what a sizer is told that does not describe a run
_NO_FEATURES = ("post", "submit_s", "request_gib")


def described(features: Sequence[Features]) -> pd.DataFrame:
    """Return what is known before runs as a table, a column per attribute."""
    names = sorted({name for one in features for name in one} - set(_NO_FEATURES))
    return pd.DataFrame({name: [one.get(name) for one in features] for name in names})


@dataclass(frozen=True)
class PipelineBins:
    """Says what runs of a pipeline should ask for, each by the bin it is predicted to fall into.

    Parameters
    ----------
    predictors : mapping
        Task -> its trained classifier of bins.
    static_gib : mapping
        Task -> one request for all of its runs.
    track : {"input", "strict"}
        Whether the bytes a task reads are known before it runs.
    """

    predictors: Mapping[str, BinPredictor]
    static_gib: Mapping[str, float]
    track: Track = "input"
    seed: int = 0
    #: task -> version of the code that it was trained with, where that is known
    code: Mapping[str, str] = field(default_factory=dict)
    data_hash: str = field(default="", compare=False)

    def requests(self, jobs: pd.DataFrame) -> list[JsonObject]:
        """Return for each job its ladder of requests, the bin behind it, and why.

        Rows are in the order of the table. A job without a recommendation keeps its request.
        """
        names, features = known_before(jobs, self.track, RESOURCES["memory"])
        rows: list[JsonObject | None] = [None] * len(names)
        for task, predictor in self.predictors.items():
            mine = [
                place
                for place, name in enumerate(names)
                if name == task and self._knows(task, features[place])
            ]
            if mine:
                seen = self._columns(predictor, [features[place] for place in mine])
                ladders, edges = predictor.predict(seen), predictor.binning_.edges_gib
                for place, first, ladder in zip(
                    mine, predictor.classes(seen).tolist(), ladders.tolist(), strict=True
                ):
                    rows[place] = {
                        "task": task,
                        "by": "bins",
                        "memory_gib": ladder[0],
                        "ladder_gib": ladder,
                        "bin": int(first) + 1,
                        "bins": len(edges),
                        "reason": f"predicted to need at most {edges[int(first)]:g} GiB",
                    }
        return [
            row or self._static(name, told)
            for row, name, told in zip(rows, names, features, strict=True)
        ]

    def save(self, path: Path | str) -> str:
        """Write all predictors and static requests to one file; no pickle is in it."""
        meta: JsonObject = {
            "tasks": [],
            "static_gib": dict(self.static_gib),
            "track": self.track,
            "code": dict(self.code),
        }
        arrays: dict[str, NDArray[Any]] = {}
        blobs: dict[str, bytes] = {}
        columns: set[str] = set()
        for number, (task, predictor) in enumerate(sorted(self.predictors.items())):
            held = predictor.parts()
            meta["tasks"].append({"task": task, "hash": predictor.data_hash_, **held.meta})
            arrays |= {f"{number}_{name}": value for name, value in held.arrays.items()}
            blobs |= {f"{number}_{name}": value for name, value in held.blobs.items()}
            columns |= set(predictor.preprocessing_.columns)
        hashes = "".join(one["hash"] for one in meta["tasks"])
        return save_model(
            path,
            kind=KIND,
            meta=meta,
            arrays=arrays,
            blobs=blobs,
            columns=sorted(columns),
            data_hash=self.data_hash or hashlib.sha256(hashes.encode()).hexdigest(),
            seed=self.seed,
        )

    @classmethod
    def load(cls, path: Path | str) -> PipelineBins:
        """Return what a file holds; it answers as before."""
        model = load_model(path, kind=KIND)
        seed = model.seed or 0
        predictors = {}
        try:
            for number, meta in enumerate(model.meta["tasks"]):
                before = f"{number}_"
                parts = Parts(
                    meta,
                    {
                        n.removeprefix(before): v
                        for n, v in model.arrays.items()
                        if n.startswith(before)
                    },
                    {
                        n.removeprefix(before): v
                        for n, v in model.blobs.items()
                        if n.startswith(before)
                    },
                )
                made = BinPredictor.of_parts(parts, meta["hash"], seed, str(path))
                predictors[str(meta["task"])] = made
            static = {str(task): float(value) for task, value in model.meta["static_gib"].items()}
            code = {str(task): str(text) for task, text in model.meta["code"].items()}
            return cls(predictors, static, model.meta["track"], seed, code, model.data_hash)
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise ModelFileError(
                f"{path}: lacks a part of the bins ({cause}). Fit again."
            ) from cause

    def sizer(self) -> OnlineSizer:
        """Return it as a sizer that learns nothing further, to be replayed beside others."""
        return _TrainedBins(self)

    def _knows(self, task: str, told: Features) -> bool:
        """Say whether a run is of the code that its task was trained with, as far as is known."""
        mine, its = self.code.get(task), code_of(told)
        return mine is None or its is None or mine == its

    @staticmethod
    def _columns(predictor: BinPredictor, told: Sequence[Features]) -> dict[str, list[object]]:
        return {name: [one.get(name) for one in told] for name in predictor.preprocessing_.columns}

    def _static(self, task: str, told: Features) -> JsonObject:
        request = request_of(told)
        static = self.static_gib.get(task) if self._knows(task, told) else None
        if static is None:
            known = f"its request: nothing is known of {task}"
            if not self._knows(task, told):
                known = f"its request: {code_of(told)} is another version than was trained with"
            ladder = [] if request is None else [request]
            return {"task": task, "by": "request", "memory_gib": request, "ladder_gib": ladder,
                    "bin": None, "bins": None, "reason": known}  # fmt: skip
        beyond = max(request or 0.0, GROWTH * static)
        return {"task": task, "by": "static", "memory_gib": static, "ladder_gib": [static, beyond],
                "bin": None, "bins": None, "reason": "one request suits all runs"}  # fmt: skip


class _TrainedBins(OnlineSizer):
    """Bins as they were trained, asked run by run."""

    def __init__(self, model: PipelineBins) -> None:
        super().__init__()
        self.model = model

    def predict(self, task: str, features: Features) -> float:
        predictor = self.model.predictors.get(task)
        if not self.model._knows(task, features):
            return request_or_plenty(features)
        if predictor is not None:
            seen = self.model._columns(predictor, [features])
            return float(predictor.predict(seen, attempts=1)[0, 0])
        static = self.model.static_gib.get(task)
        return request_or_plenty(features) if static is None else static

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        """Learn nothing: the thesis trains once."""

    def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
        predictor = self.model.predictors.get(task)
        edges = () if predictor is None else predictor.binning_.edges_gib
        higher = [edge for edge in edges if edge > last_gib]
        return higher[0] if higher else max(GROWTH * last_gib, request_of(features) or 0.0)
