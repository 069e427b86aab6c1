"""Sentence encoders: what turns texts into directions, so that like meanings lie close.

They run offline: the package of an extra carries the weights, and nothing is fetched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prophase.errors import MissingExtraError, ParameterError, not_among

#: a direction per row, of length one; of a text that says nothing, zeros
Directions = NDArray[np.float32]


class TextEncoder(Protocol):
    """What turns texts into directions, the same ones each time."""

    @property
    def name(self) -> str:
        """What a model file calls it."""

    def __call__(self, texts: Sequence[str]) -> Directions:
        """Return a direction per text."""


class WordLlama:
    """Static embeddings of the pieces of a text, averaged; 32,000 pieces in 16 MB."""

    name = "wordllama"

    def __init__(self) -> None:
        # the package itself is not imported: it would set up logging for the whole process
        found = find_spec("wordllama")
        try:
            if found is None or not found.submodule_search_locations:
                raise ImportError("wordllama is not installed")
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as cause:
            # its package has no wheel for Python 3.14 yet
            where = " (on Python 3.13 or older)" if sys.version_info >= (3, 14) else ""
            raise MissingExtraError(f"The text encoder wordllama{where}", "text") from cause
        home = Path(found.submodule_search_locations[0])
        tokenizer = home / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        weights = load_file(home / "weights" / "l2_supercat_256.safetensors")
        self._pieces = weights["embedding.weight"]

    def __call__(self, texts: Sequence[str]) -> Directions:
        """Return a direction per text."""
        found = np.zeros((len(texts), self._pieces.shape[1]), dtype=np.float32)
        read = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for row, one in zip(found, read, strict=True):
            if one.ids:
                row[:] = self._pieces[one.ids].mean(axis=0, dtype=np.float32)
        length = np.linalg.norm(found, axis=1, keepdims=True)
        return (found / np.where(length > 0, length, 1.0)).astype(np.float32)


_MADE: dict[str, Callable[[], TextEncoder]] = {WordLlama.name: WordLlama}
ENCODERS = tuple(_MADE)


@cache
def encoder_named(name: str) -> TextEncoder:
    """Return an encoder, loaded once.

    Examples
    --------
    >>> encoder_named("word2vec")
    Traceback (most recent call last):
    ...
    prophase.errors.ParameterError: there is no text encoder 'word2vec'. Known: wordllama.
    """
    if name not in _MADE:
        raise ParameterError(not_among(f"there is no text encoder {name!r}.", name, ENCODERS))
    return _MADE[name]()
