"""The learning libraries, imported when they are needed: they are an extra of the package."""

from __future__ import annotations

from functools import partial

from prophase.lazy_imports import optional

#: scikit-learn or hdbscan by the name of a module: ``library("sklearn.cluster")``
library = partial(optional, what="learning profiles", extra="learn")
