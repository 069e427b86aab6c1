from __future__ import annotations

import numpy as np

from prophase.trace.synth.generator import chosen, hex_names, numbered


def test_names_are_text_of_the_kind_pandas_reads_back() -> None:
    assert str(chosen(["a", "b"], np.array([1, 0])).dtype) == "str"
    assert str(numbered("job-", np.array([3])).dtype) == "str"


def test_a_negative_code_and_a_name_none_are_missing() -> None:
    names = chosen(["a", None], np.array([-1, 0, 1]))
    assert names.isna().tolist() == [True, False, True]


def test_a_suffix_joins_with_a_slash() -> None:
    roles = chosen(["ps", "worker"], np.array([0, 1]))
    assert numbered("job-", np.array([7, 7]), suffix=roles).tolist() == ["job-7/ps", "job-7/worker"]


def test_hexadecimal_names_never_repeat_even_over_several_calls() -> None:
    rng = np.random.default_rng(0)
    first, second = hex_names(rng, 5000, 12), hex_names(rng, 5000, 12, first=5000)
    names = first.to_pylist() + second.to_pylist()
    assert len(set(names)) == 10_000
    assert all(len(name) == 12 and int(name, 16) >= 0 for name in names[:50])
