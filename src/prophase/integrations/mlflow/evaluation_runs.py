"""Evaluations as runs of MLflow: one for the evaluation, below it one per method."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from prophase.integrations.mlflow.client import (
    EXPERIMENT,
    client_of,
    experiment_id,
    log_params,
    mlflow_errors,
    tags_of,
)
from prophase.json_types import JsonObject

#: names of metrics may hold these characters only
_NOT_ALLOWED = re.compile(r"[^\w\-. /]")


def log_evaluation(
    document: JsonObject,
    uri: str,
    *,
    experiment: str = EXPERIMENT,
    command: str = "",
    data_hash: str = "",
) -> str:
    """Log an evaluation and return the id of its run.

    Parameters
    ----------
    document : mapping
        What ``prophase evaluate --format json`` gives: settings, and ``methods`` with their
        measures.
    uri : str
        Address of MLflow: ``http://HOST:5000``, ``sqlite:///mlflow.db`` or a folder.
    """
    client = client_of(uri)
    tags = tags_of(command, {"prophase.data_hash": data_hash})
    with mlflow_errors(uri):
        place = experiment_id(client, experiment)
        parent = client.create_run(place, tags=tags, run_name=f"evaluate {document['target']}")
        run_id = str(parent.info.run_id)
        settings: JsonObject = {
            name: document[name]
            for name in ("target", "split", "online", "train_jobs", "test_jobs")
            if name in document
        }
        log_params(client, run_id, settings)
        client.log_dict(run_id, dict(document), "evaluation.json")
        for name, measures in document["methods"].items():
            one = client.create_run(
                place, tags={**tags, "mlflow.parentRunId": run_id}, run_name=str(name)
            )
            log_params(client, one.info.run_id, {**settings, "method": name})
            for metric, value in numbers_of(measures):
                client.log_metric(one.info.run_id, metric, value)
            client.set_terminated(one.info.run_id)
        client.set_terminated(run_id)
    return run_id


def numbers_of(measures: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of nested measures, by a name that gives its place.

    Examples
    --------
    >>> list(numbers_of({"r2_log": 0.5, "strata": {"new": {"jobs": 3}}, "note": "x"}))
    [('r2_log', 0.5), ('strata/new/jobs', 3.0)]
    """
    for key, value in measures.items():
        name = before + _NOT_ALLOWED.sub("-", str(key))
        if isinstance(value, Mapping):
            yield from numbers_of(value, f"{name}/")
        elif isinstance(value, list | tuple) and len(value) == 2:
            ends = {"low": value[0], "high": value[1]}
            yield from numbers_of(ends, f"{name}/")
        elif type(value) in (int, float) and math.isfinite(value):
            yield name, float(value)
