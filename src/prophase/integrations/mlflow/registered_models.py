"""Model files as registered models of MLflow, which anything that speaks pyfunc can ask."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prophase.errors import ParameterError
from prophase.integrations.mlflow.pyfunc import ANSWERERS
from prophase.integrations.mlflow.tracking import (
    EXPERIMENT,
    client_of,
    experiment_id,
    log_params,
    mlflow_errors,
    pyfunc_of_mlflow,
    tags_of,
)
from prophase.modelfile import Model, load_model
from prophase.trace.schema import JOBS
from prophase.version import __version__

_TRACKING = "MLFLOW_TRACKING_URI"


@dataclass(frozen=True)
class Registered:
    """A version of a registered model."""

    name: str
    version: str
    run_id: str

    @property
    def uri(self) -> str:
        """Return what ``mlflow.pyfunc.load_model`` takes."""
        return f"models:/{self.name}/{self.version}"


def register_bundle(
    path: Path | str,
    uri: str,
    name: str,
    *,
    experiment: str = EXPERIMENT,
    command: str = "",
    metrics: Mapping[str, float] | None = None,
) -> Registered:
    """Log a model file as a pyfunc model and register it as the next version of a name.

    Parameters
    ----------
    path : path
        File of ``prophase learn`` or ``prophase profile classify``.

    Notes
    -----
    MLflow keeps the file as it is, with its checksum, and loads it through Prophase; no pickle
    is written or read.
    """
    model = load_model(path)
    if model.kind not in ANSWERERS:
        raise ParameterError.among(
            f"{path}: a model of kind {model.kind!r} gives no answers to a table of jobs.",
            model.kind,
            ANSWERERS,
            heading="MLflow can serve",
        )
    client, wanted = client_of(uri), f"name = '{_quoted(name)}'"
    scratching = tempfile.TemporaryDirectory(prefix="prophase-")
    with scratching as scratch, mlflow_errors(uri), _usual_store(uri):
        folder = Path(scratch) / "model"
        save_pyfunc(Path(path), model, folder)
        tags = tags_of(command, {"prophase.data_hash": model.data_hash})
        run = client.create_run(
            experiment_id(client, experiment), tags=tags, run_name=f"register {name}"
        )
        run_id = str(run.info.run_id)
        settings = {"kind": model.kind, "seed": model.seed, "columns": ", ".join(model.columns)}
        log_params(client, run_id, settings)
        for metric, value in (metrics or {}).items():
            client.log_metric(run_id, metric, value)
        client.log_artifacts(run_id, str(folder), "model")
        if not client.search_registered_models(wanted):
            client.create_registered_model(name)
        made = client.create_model_version(
            name, f"{run.info.artifact_uri}/model", run_id, tags={"checksum": model.checksum}
        )
        client.set_terminated(run_id)
    return Registered(name, str(made.version), run_id)


def save_pyfunc(path: Path, model: Model, folder: Path) -> None:
    """Write a folder that ``mlflow.pyfunc.load_model`` loads."""
    pyfunc = pyfunc_of_mlflow()
    with warnings.catch_warnings():
        # it would like an example of jobs, but those of a history are nobody else's business
        warnings.simplefilter("ignore")
        pyfunc.save_model(
            str(folder),
            loader_module="prophase.integrations.mlflow.pyfunc",
            data_path=str(path),
            signature=_signature(model.columns),
            pip_requirements=[f"prophase[learn]=={__version__}"],
            metadata={"checksum": model.checksum, "kind": model.kind},
        )


@contextmanager
def _usual_store(uri: str) -> Iterator[None]:
    """Let MLflow open this store where it would make a database in the folder we are in."""
    before = os.environ.get(_TRACKING)
    os.environ[_TRACKING] = uri
    try:
        yield
    finally:
        if before is None:
            del os.environ[_TRACKING]
        else:
            os.environ[_TRACKING] = before


def _signature(columns: tuple[str, ...]) -> Any:
    """Return what goes in: any of the model's columns, each with its type."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    held: list[Any] = []
    for name in columns:
        known = JOBS.get(name)
        if known is None or known.kind == "any":
            # of free columns no type is known, and MLflow would drop what a signature leaves out
            return None
        kind = "double" if known.kind == "number" else "string"
        held.append(ColSpec(kind, name, required=False))
    return ModelSignature(inputs=Schema(held)) if held else None


def _quoted(name: str) -> str:
    if "'" in name or not name.strip():
        raise ParameterError(f"{name!r} is no name for a registered model. Use letters and digits.")
    return name
