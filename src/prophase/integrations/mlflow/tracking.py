"""Tracking with MLflow: a client without any setting that others would see; evaluations as runs.

An evaluation is one run, with a run below it per method.
"""

from __future__ import annotations

import logging
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prophase.errors import ExecutorError, ParameterError
from prophase.json_types import JsonMapping, JsonObject
from prophase.lazy_imports import optional
from prophase.version import __version__

EXPERIMENT = "prophase"
_MOST_PARAM, _MOST_TAG = 6000, 5000


def client_of(uri: str) -> Any:
    """Return a client; ``uri`` is a server (http), a database (sqlite) or a folder.

    Examples
    --------
    >>> client_of("ftp://somewhere")
    Traceback (most recent call last):
    prophase.errors.ParameterError: --mlflow ftp://somewhere: write http://HOST:5000, ...
    """
    if re.match(r"(https?|sqlite|postgresql|mysql|file)(\+\w+)?:|databricks", uri) is None:
        raise ParameterError(
            f"--mlflow {uri}: write http://HOST:5000, sqlite:///mlflow.db or file:///FOLDER."
        )
    tracking = optional("mlflow.tracking", "MLflow", "mlflow")
    # it reports every table it makes in a database
    for name in ("mlflow.store.db.utils", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    with mlflow_errors(uri):
        return tracking.MlflowClient(tracking_uri=uri, registry_uri=uri)


@contextmanager
def mlflow_errors(uri: str) -> Iterator[None]:
    """Re-raise what MLflow says as ours."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as cause:
        raise ExecutorError(f"MLflow at {without_password(uri)}: {cause.message}") from cause


def pyfunc_of_mlflow() -> Any:
    """Return ``mlflow.pyfunc``, which warns of itself when it is imported first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return optional("mlflow.pyfunc", "MLflow", "mlflow")


def without_password(uri: str) -> str:
    """Return an address as it may be shown.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@db/mlflow")
    'postgresql://ann:...@db/mlflow'
    """
    return re.sub(r"(://[^/:@]*):[^@/]*@", r"\1:...@", uri)


def experiment_id(client: Any, name: str) -> str:
    """Return the experiment of that name; made if it is not there."""
    held = client.get_experiment_by_name(name)
    return str(held.experiment_id if held is not None else client.create_experiment(name))


def tags_of(command: str, more: Mapping[str, str]) -> dict[str, str]:
    """Return what says where a run came from."""
    held = {"prophase.version": __version__, "prophase.command": command, **more}
    return {name: str(value)[:_MOST_TAG] for name, value in held.items() if value}


def log_params(client: Any, run_id: str, params: JsonObject) -> None:
    """Log settings, cut to what MLflow takes."""
    for name, value in params.items():
        client.log_param(run_id, name, str(value)[:_MOST_PARAM])


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


def numbers_of(measures: JsonMapping, before: str = "") -> Iterator[tuple[str, float]]:
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
