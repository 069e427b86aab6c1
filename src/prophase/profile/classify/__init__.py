"""Which profile will a job have? Told from what is known when it is submitted."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.classify.comparing import Comparison, compare_classifiers
    from prophase.profile.classify.explaining import importance, shap_of_job, shap_summary
    from prophase.profile.classify.trees_as_text import tree_text

_HOMES = {
    "Comparison": "comparing",
    "ProfileClassifier": "classifier",
    "compare_classifiers": "comparing",
    "importance": "explaining",
    "shap_of_job": "explaining",
    "shap_summary": "explaining",
    "tree_text": "trees_as_text",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Comparison",
    "ProfileClassifier",
    "compare_classifiers",
    "importance",
    "shap_of_job",
    "shap_summary",
    "tree_text",
]
