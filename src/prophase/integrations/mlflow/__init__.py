"""MLflow: evaluations as runs, model files as registered models that answer as pyfunc.

Nothing is pickled: MLflow keeps our own checked model file and loads it through our own reader.
"""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.integrations.mlflow.recording import log_evaluation
    from prophase.integrations.mlflow.registering import Registered, register_bundle

_HOMES = {
    "Registered": "registering",
    "log_evaluation": "recording",
    "register_bundle": "registering",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Registered", "log_evaluation", "register_bundle"]
