"""A tree of the classifier as text: which words it asks for, and what follows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from prophase.errors import ParameterError
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.classify.explaining import explained_method, profile_code
from prophase.profile.classify.labels import Label


def tree_text(classifier: ProfileClassifier, profile: Label, tree: int = 0) -> str:
    """Return one tree of a profile; leaves are what it adds to the log-odds.

    Parameters
    ----------
    profile : int or str
        Profile whose trees are looked at; each round of training grows one per profile.
    tree : int, default=0
        Round of training, from 0 on. Later trees correct earlier ones.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 30})
    >>> classifier = ProfileClassifier(unknown_below=0.5).fit(jobs, [8, 3] * 30)
    >>> print(tree_text(classifier, 8))
    user is ann?
      yes: +0.2812
      no:  -0.2812
    """
    method = explained_method(classifier)
    trees = method.booster.get_dump(dump_format="json")
    classes = len(classifier.classes_)
    rounds = len(trees) // classes
    if not 0 <= tree < rounds:
        raise ParameterError(f"tree is {tree}; there are {rounds} per profile, from 0 on.")
    root = json.loads(trees[tree * classes + profile_code(classifier, profile)])
    return "\n".join(_lines(root, method.encoding.names()))


def _lines(node: dict[str, Any], names: list[tuple[str, str]]) -> Iterator[str]:
    if "leaf" in node:
        yield f"{node['leaf']:+.4g}"
        return
    column, value = names[int(str(node["split"]).removeprefix("f"))]
    yield f"{column} is {value}?"
    children = {child["nodeid"]: child for child in node["children"]}
    # a job without the word has no entry in its sparse row: it follows the missing branch
    present = node["yes" if float(node["split_condition"]) > 1.0 else "no"]
    absent = node["missing"]
    for word, number in (("yes: ", present), ("no:  ", absent)):
        first, *rest = _lines(children[number], names)
        yield f"  {word}{first}"
        yield from (f"  {line}" for line in rest)
