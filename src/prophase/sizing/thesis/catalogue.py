"""Every classifier by name."""

from __future__ import annotations

from prophase.errors import ParameterError, not_among
from prophase.sizing.thesis.cautious import CautiousLine
from prophase.sizing.thesis.classifiers import BoostedTrees, Classifier, SupportVectors

CLASSIFIERS: dict[str, type[Classifier]] = {
    one.name: one for one in (BoostedTrees, SupportVectors, CautiousLine)
}
#: those of the thesis
PUBLISHED = ("xgboost", "svm")


def classifier_named(name: str) -> type[Classifier]:
    """Return a classifier by name, or say which there are."""
    if name not in CLASSIFIERS:
        raise ParameterError(not_among(f"classifier {name!r} is unknown.", name, CLASSIFIERS))
    return CLASSIFIERS[name]
