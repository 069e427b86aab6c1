"""A study of bins in MLflow: one run, a run below it per model, and the trained file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from prophase.integrations.mlflow.tracking import (
    EXPERIMENT,
    client_of,
    experiment_id,
    log_params,
    mlflow_errors,
    numbers_of,
    tags_of,
)
from prophase.plain import finite

if TYPE_CHECKING:
    from prophase.sizing.bins.pipeline_study import BinsStudy

_PARAMETERS = ("task", "binning", "classifier", "sampling", "split")


def log_bins(found: BinsStudy, uri: str, *, experiment: str = EXPERIMENT, command: str = "") -> str:
    """Log parameters, metrics, histories and the model file; return the id of the run.

    Parameters
    ----------
    uri : str
        Address of MLflow: ``http://HOST:5000``, ``sqlite:///mlflow.db`` or a folder.
    """
    client, tags = client_of(uri), tags_of(command, {})
    with mlflow_errors(uri):
        place = experiment_id(client, experiment)
        parent = client.create_run(place, tags=tags, run_name="size bins")
        run_id = str(parent.info.run_id)
        for row in found.comparison:
            for metric, value in numbers_of(row):
                client.log_metric(run_id, f"{row['sized_by']}/{metric}".replace("'", ""), value)
        for row in found.run_estimate:
            for metric, value in numbers_of(row):
                client.log_metric(run_id, f"run/{row['resource']}/{metric}", value)
        client.log_dict(run_id, finite(found.to_dict()), "bins.json")
        client.log_dict(run_id, {"trials": finite(found.history())}, "tuning.json")
        with tempfile.TemporaryDirectory(prefix="prophase-") as folder:
            path = Path(folder) / "bins.model"
            found.model.save(path)
            client.log_artifact(run_id, str(path))
        for one in found.experiments:
            row = one.row()
            name = f"{one.task} {one.binning} {one.classifier} {one.sampling}"
            below = {**tags, "mlflow.parentRunId": run_id}
            child = str(client.create_run(place, tags=below, run_name=name).info.run_id)
            log_params(client, child, {key: row[key] for key in _PARAMETERS} | row["settings"])
            for metric, value in numbers_of({k: v for k, v in row.items() if k != "settings"}):
                client.log_metric(child, metric, value)
            client.log_dict(child, {"confusion": one.score.confusion.tolist()}, "confusion.json")
            client.set_terminated(child)
        client.set_terminated(run_id)
    return run_id
