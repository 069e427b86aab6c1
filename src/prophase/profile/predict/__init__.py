"""How long will it run, and what will it use? Answers from submit-time metadata alone."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.predict.evaluation import Evaluation, evaluate
    from prophase.profile.predict.methods import METHODS, predictor_named
    from prophase.profile.predict.predictor import Predictor

_HOMES = {
    "METHODS": "methods",
    "Evaluation": "evaluation",
    "Predictor": "predictor",
    "evaluate": "evaluation",
    "predictor_named": "methods",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["METHODS", "Evaluation", "Predictor", "evaluate", "predictor_named"]
