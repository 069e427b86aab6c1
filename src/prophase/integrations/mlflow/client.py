"""A client of one MLflow server or database, without any setting that others would see."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prophase.errors import ExecutorError, ParameterError
from prophase.json_types import JsonObject
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
