"""Libraries of the extra ``learn``, imported when a method needs them."""

from __future__ import annotations

from functools import partial

from prophase.lazy import optional

#: scikit-learn, XGBoost, Optuna or imbalanced-learn by the name of a module
library = partial(optional, what="this way of sizing", extra="learn")
