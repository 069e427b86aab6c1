"""Which kinds of job are there? Usage metrics, clustering and profiles."""

from __future__ import annotations

from functools import partial

from prophase.lazy_imports import optional

#: scikit-learn or hdbscan by the name of a module, ``library("sklearn.cluster")``, imported when
#: it is needed: they are an extra of the package
library = partial(optional, what="learning profiles", extra="learn")
