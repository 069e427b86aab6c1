from __future__ import annotations

import numpy as np

from prophase.profile.classify.metadata_words import Words
from prophase.profile.classify.one_hot import OneHot


def words(*rows: list[str | None]) -> Words:
    return Words(("user", "task"), np.array(rows, dtype=object))


KNOWN = words(["ann", "ps"], ["bob", "worker"], ["ann", None])


def test_every_word_has_one_place_and_rows_hold_a_one_for_each() -> None:
    encoding = OneHot.fit(KNOWN)
    assert encoding.names() == [
        ("user", "ann"),
        ("user", "bob"),
        ("task", "ps"),
        ("task", "worker"),
    ]
    assert encoding.encode(KNOWN).toarray().tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 0]]


def test_words_never_seen_are_ignored() -> None:
    encoding = OneHot.fit(KNOWN)
    assert encoding.encode(words(["eve", "evaluator"], [None, "ps"])).toarray().tolist() == [
        [0, 0, 0, 0],
        [0, 0, 1, 0],
    ]


def test_a_word_of_another_column_is_not_the_same_word() -> None:
    assert OneHot.fit(KNOWN).codes(words(["ps", "ann"])).tolist() == [[-1, -1]]


def test_the_size_gives_the_dimension_and_what_sparse_saves() -> None:
    size = OneHot.fit(KNOWN).size(KNOWN)
    assert (size.jobs, size.columns, size.dimension, size.dense_bytes) == (3, 2, 4, 48)
    many = words(*([str(n), str(n)] for n in range(2_000)))
    grown = OneHot.fit(many).size(many)
    assert grown.sparse_bytes < grown.dense_bytes / 100
    assert "2 columns became 4,000" in grown.sentence()


def test_an_encoding_comes_back_from_its_lists() -> None:
    encoding = OneHot.fit(KNOWN)
    assert OneHot.from_lists(encoding.columns, encoding.to_lists()) == encoding
