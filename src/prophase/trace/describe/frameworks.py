"""The framework of a job where the trace tells it: in a column, an image, a task, a workload."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from prophase.trace.describe.column_arrays import Ints, codes_of, has_values

#: looked at in this order; the first that knows a job's framework says it
_COLUMNS = ("attr_framework", "attr_image", "task", "workload")
#: a column with more values names single jobs, and is not read
_MOST_VALUES = 20_000
#: framework -> how people write it, as a word of its own or at the beginning of one
_WORDS = {
    "PyTorch": "pytorch|torch|torchrun",
    "TensorFlow": "tensorflow|tf|keras",
    "JAX": "jax|flax",
    "XGBoost": "xgboost|xgb",
    "Horovod": "horovod",
    "MXNet": "mxnet",
    "PaddlePaddle": "paddle|paddlepaddle",
    "Ray": "ray",
    "Spark": "spark|pyspark",
    "MPI": "mpi|mpirun|openmpi",
}
#: capitals begin a word too: PyTorchWorker, TFJob
_PATTERNS = {
    name: re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])") for name, words in _WORDS.items()
}
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINED = {"py torch": "pytorch", "tensor flow": "tensorflow", "m x net": "mxnet"}


def framework_in(text: str) -> str:
    """Return the framework that a text names, or an empty text.

    Examples
    --------
    >>> [framework_in(text) for text in ("PyTorchWorker", "TFJob-1", "nvidia/jax:24", "array")]
    ['PyTorch', 'TensorFlow', 'JAX', '']
    """
    words = _CAPITAL.sub(" ", text).lower()
    for apart, joined in _JOINED.items():
        words = words.replace(apart, joined)
    return next((name for name, pattern in _PATTERNS.items() if pattern.search(words)), "")


def frameworks_of(jobs: pd.DataFrame) -> tuple[Ints, list[str]]:
    """Return a number per row (-1 where no column tells) and the framework it stands for."""
    names = list(_WORDS)
    found = np.full(len(jobs), -1, np.int32)
    for column in _COLUMNS:
        if not has_values(jobs, column):
            continue
        codes, texts = codes_of(jobs[column])
        if len(texts) > _MOST_VALUES:
            continue
        said = [framework_in(text) for text in texts]
        if column == "attr_framework":
            # a column of its own says it even in words that are not known here
            said = [known or text for known, text in zip(said, texts, strict=True)]
        names += sorted(set(said) - {"", *names})
        of_text = np.array([names.index(one) if one else -1 for one in said] + [-1], np.int32)
        found = np.where(found < 0, of_text[codes], found)
    return found, names
