"""The methods, one file each; ``default`` is the one that wins on time splits of real traces."""

from __future__ import annotations

from importlib import import_module

from prophase.errors import ParameterError, not_among
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.text_encoder import encoder_named

#: name -> module and class
_HOMES = {
    "global-median": ("medians", "GlobalMedian"),
    "user-median": ("medians", "UserMedian"),
    "time-limit": ("medians", "TimeLimit"),
    "backoff-median": ("medians", "BackoffMedian"),
    "recent-median": ("medians", "RecentMedian"),
    "shrinkage": ("medians", "Shrinkage"),
    "boosting": ("quantile_trees", "Boosting"),
    "forest": ("quantile_trees", "Forest"),
    "mixture": ("mixture", "Mixture"),
    "profile-mean": ("profile_methods", "ProfileMean"),
    "profile-median": ("profile_methods", "ProfileMedian"),
    "profile-q05": ("profile_methods", "ProfileQ05"),
    "profile-interquartile-mean": ("profile_methods", "ProfileInterquartileMean"),
    "profile-iqr": ("profile_methods", "ProfileIqr"),
    "profile-skew-adaptive": ("profile_methods", "ProfileSkewAdaptive"),
}
METHODS = tuple(_HOMES)
#: these learn nothing; a method that does not beat them is not worth its complexity
BASELINES = ("global-median", "user-median", "time-limit", "backoff-median")
DEFAULT = "mixture"


#: stands between a method and the sentence encoder that reads names for it
_WITH = "+"


def full_name(name: str) -> str:
    """Return the name of a method in full.

    Examples
    --------
    >>> full_name("default"), full_name("default+wordllama")
    ('mixture', 'mixture+wordllama')
    """
    method, plus, encoder = name.partition(_WITH)
    return (DEFAULT if method == "default" else method) + plus + encoder


def predictor_named(name: str, *, random_state: int = 0) -> Predictor:
    """Return an unfitted predictor; ``mixture+wordllama`` has a sentence encoder read names.

    Examples
    --------
    >>> predictor_named("backoff-median").name
    'backoff-median'
    """
    key, plus, encoder = full_name(name).partition(_WITH)
    if key not in _HOMES:
        raise ParameterError(
            not_among(f"there is no method {name!r}.", name, ["default", *METHODS])
        )
    if plus and key != DEFAULT:
        raise ParameterError(
            f"{name}: {key} does not read names, so a text encoder is of no use to it. Write "
            f"{DEFAULT}{plus}{encoder}, or {key} alone."
        )
    module, cls = _HOMES[key]
    found = getattr(import_module(f"{__name__}.{module}"), cls)
    reads = {"encoder": encoder_named(encoder).name} if plus else {}
    predictor = found(random_state=random_state, **reads)
    assert isinstance(predictor, Predictor)
    return predictor
