"""What MLflow loads: a model file that answers a table of jobs with a table of answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from prophase.errors import ModelFileError
from prophase.json_types import JsonObject
from prophase.modelfile import load_model

#: a table of jobs -> a table of answers
Answers = Callable[[pd.DataFrame], pd.DataFrame]


class BundleModel:
    """A model file behind MLflow's ``predict``."""

    def __init__(self, path: Path) -> None:
        kind = load_model(path).kind
        if kind not in ANSWERERS:
            raise ModelFileError(f"{path}: MLflow cannot serve a model of kind {kind!r}.")
        self._answer = ANSWERERS[kind](path)

    def predict(self, jobs: Any, params: JsonObject | None = None) -> pd.DataFrame:
        """Return the answers; rows have the place of their job in the column ``job``."""
        table = pd.DataFrame(jobs).reset_index(drop=True)
        # MLflow hands over columns that a caller left out as missing throughout
        table = table.loc[:, table.notna().any()] if len(table) else table
        found = self._answer(table)
        found.insert(0, "job", found.index)
        return found.reset_index(drop=True)


def _predictions(path: Path) -> Answers:
    from prophase.profile.predict.job_model import JobModel

    model = JobModel.load(path)

    def answer(jobs: pd.DataFrame) -> pd.DataFrame:
        found = model.predict(jobs)
        if "target" not in found:
            found.insert(0, "target", model.targets[0])
        return found

    return answer


def _profiles(path: Path) -> Answers:
    from prophase.profile.classify.classifier import ProfileClassifier

    classifier = ProfileClassifier.load(path)
    return lambda jobs: classifier.assign(jobs, partial=True)


def _bins(path: Path) -> Answers:
    from prophase.sizing.bins.pipeline_bins import PipelineBins

    model = PipelineBins.load(path)
    return lambda jobs: pd.DataFrame(model.requests(jobs))


#: kind of a model file -> what makes it answer
ANSWERERS: dict[str, Callable[[Path], Answers]] = {
    "profile.predict": _predictions,
    "profile.classifier": _profiles,
    "sizing.pipeline-bins": _bins,
}


def _load_pyfunc(path: str) -> BundleModel:
    """Return the model; MLflow calls this by its name."""
    return BundleModel(Path(path))
