"""Ask for a generator by its name, with the settings that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from prophase.errors import MissingColumnError, ParameterError, not_among
from prophase.json_types import JsonMapping
from prophase.profile.clusters.clustering import Generator
from prophase.profile.clusters.generators.autoencoder import Autoencoder
from prophase.profile.clusters.generators.density import Hdbscan, Optics
from prophase.profile.clusters.generators.k_means import KMeans
from prophase.profile.clusters.generators.rules import ProfileRules, read_rules, rules_of_column
from prophase.profile.clusters.generators.semi_supervised import SemiSupervised
from prophase.profile.clusters.generators.usage_tree import UsageTree

#: the paper's choice is 300 of 100,001 jobs
_LEAST_SHARE, _LEAST_JOBS = 0.003, 15
_NEIGHBOURS = 10
#: column that stands for a profile if no other is named
_LABEL = "workload"


def paper_generator(jobs: int) -> Hdbscan:
    """Return HDBSCAN with the paper's share of jobs, 300 of 100,001, as the least size."""
    return Hdbscan(min_cluster_size=least_size(jobs), min_samples=_NEIGHBOURS)


def least_size(jobs: int) -> int:
    """Return the fewest jobs of a profile if nobody says it: 0.3 %, and never below 15."""
    return max(_LEAST_JOBS, round(_LEAST_SHARE * jobs))


def generator_named(
    name: str, jobs: pd.DataFrame, *, random_state: int = 0, **settings: Any
) -> Generator:
    """Return the generator of a name; settings that are None take their default.

    Parameters
    ----------
    name : str
        One of ``GENERATORS``.
    jobs : DataFrame
        The jobs it is for: their number decides the least size of a profile.
    **settings
        ``min_cluster_size``, ``min_samples``, ``metric``, ``clusters``, ``codes``, ``rules`` (a
        TOML file) and ``label`` (a column). One that the generator does not know is refused.

    Examples
    --------
    >>> jobs = pd.DataFrame({"cpu_mean_cores": range(100)})
    >>> generator_named("k-means", jobs, clusters=4).settings()["clusters"]
    4
    """
    if name not in GENERATORS:
        raise ParameterError(not_among(f"generator {name!r} is unknown.", name, GENERATORS))
    make, known = GENERATORS[name]
    given = {key: value for key, value in settings.items() if value is not None}
    for key in given:
        if key not in known:
            said = f"{key.replace('_', '-')} has no meaning for {name}."
            raise ParameterError(f"{said} It takes: {', '.join(known).replace('_', '-')}.")
    return make(jobs, given, random_state)


def _tree(jobs: pd.DataFrame, given: JsonMapping, random_state: int) -> Generator:
    return UsageTree(**given)


def _hdbscan(jobs: pd.DataFrame, given: JsonMapping, random_state: int) -> Generator:
    chosen = {"min_cluster_size": least_size(len(jobs)), "min_samples": _NEIGHBOURS, **given}
    return Hdbscan(**chosen)


def _optics(jobs: pd.DataFrame, given: JsonMapping, random_state: int) -> Generator:
    chosen = {"min_cluster_size": least_size(len(jobs)), **given}
    return Optics(**chosen, random_state=random_state)


def _k_means(jobs: pd.DataFrame, given: JsonMapping, random_state: int) -> Generator:
    return KMeans(**given, random_state=random_state)


def _rules(jobs: pd.DataFrame, given: JsonMapping, random_state: int) -> Generator:
    if "rules" in given and "label" in given:
        raise ParameterError("give rules or a label, not both: each says what the profiles are.")
    if "rules" in given:
        return ProfileRules(read_rules(Path(given["rules"])))
    return ProfileRules(rules_of_column(jobs, _label(jobs, given)))


def _semi_supervised(
    jobs: pd.DataFrame, given: Mapping[str, object], random_state: int
) -> Generator:
    return SemiSupervised(_label(jobs, given))


def _autoencoder(jobs: pd.DataFrame, given: JsonMapping, random_state: int) -> Generator:
    inner = {key: value for key, value in given.items() if key != "codes"}
    codes = {"codes": given["codes"]} if "codes" in given else {}
    return Autoencoder(
        inner=_hdbscan(jobs, inner, random_state), random_state=random_state, **codes
    )


def _label(jobs: pd.DataFrame, given: Mapping[str, object]) -> str:
    column = str(given.get("label", _LABEL))
    if column not in jobs or jobs[column].isna().all():
        said = f"no job has a value in the column {column!r} to take labels from."
        known = [str(name) for name in jobs.columns if jobs[name].notna().any()]
        raise MissingColumnError(not_among(said, column, known, heading="Columns"))
    return column


_Make = Callable[[pd.DataFrame, Mapping[str, object], int], Generator]
_DENSITY = ("min_cluster_size", "min_samples", "metric")
#: name -> what makes it, and its settings
GENERATORS: dict[str, tuple[_Make, tuple[str, ...]]] = {
    "tree": (_tree, ("clusters", "min_cluster_size")),
    "hdbscan": (_hdbscan, _DENSITY),
    "optics": (_optics, ("min_cluster_size", "metric")),
    "k-means": (_k_means, ("clusters",)),
    "rules": (_rules, ("rules", "label")),
    "semi-supervised": (_semi_supervised, ("label",)),
    "autoencoder": (_autoencoder, (*_DENSITY, "codes")),
}
