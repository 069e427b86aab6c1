from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.trace.identity.folding import FOLDED, folded, script_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("train_0017_lr3e-4", "train_0018_lr1e-3"),
        ("etl-2024-05-01", "etl-2023-12-31"),
        ("etl_20240501T0730", "etl_20231231T2359"),
        ("backup 2024-05-01 03:00:00", "backup 2024-05-02 03:00:00"),
        ("map[17]", "map[3]"),
        ("array_12", "array_9999"),
        ("fit-3f2a9c1", "fit-9bc0d42"),
        ("x-7f1d2c3e-1a2b-4c3d-8e9f-0123456789ab", "x-00000000-1a2b-4c3d-8e9f-0123456789ff"),
        ("sweep_seed7", "sweep_seed11"),
        ("net_bs64_wd0.01", "net_bs128_wd0.1"),
        ("nightly-28391040", "nightly-28392480"),
        ("reads_ERR275252", "reads_ERR275251"),
        ("input:1002_batch:5", "input:999_batch:75"),
    ],
)
def test_what_differs_from_run_to_run_is_folded(one: str, other: str) -> None:
    assert folded(one) == folded(other)
    assert FOLDED in folded(one)


@pytest.mark.parametrize(
    "name",
    ["bwa2", "gpt2", "resnet50", "v100", "python3.11", "llama7b", "mixtral8x7b", "hg38", "k80",
     "bowtie2_align", "cifar10", "s3-copy", "fp16", "decade", "NFCORE_MAG:MAG:KRAKEN2_DB"],
)  # fmt: skip
def test_numbers_that_belong_to_a_word_stay(name: str) -> None:
    assert folded(name) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [("bwa", "bwa2"), ("resnet50", "resnet101"), ("gpt2_seed1", "gpt3_seed1"), ("a_1", "b_1")],
)
def test_programs_that_differ_stay_apart(one: str, other: str) -> None:
    assert folded(one) != folded(other)


_names = st.text(string.ascii_letters + string.digits + "-_.:[]()/=# ", max_size=40)


@given(_names)
def test_folding_twice_changes_nothing(name: str) -> None:
    assert folded(folded(name)) == folded(name)
    assert folded(folded(name, "all"), "all") == folded(name, "all")


@given(_names)
def test_no_digit_is_left_where_all_numbers_are_folded(name: str) -> None:
    assert not any(letter.isdigit() for letter in folded(name, "all"))


@given(st.text(string.ascii_letters + "-_", min_size=1, max_size=20))
def test_a_name_without_numbers_stays(name: str) -> None:
    assert folded(name) == name


@given(
    st.from_regex(r"[a-z]{3,8}", fullmatch=True),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.sampled_from("-_. "),
)
def test_a_number_of_its_own_is_a_running_number(
    word: str, one: int, other: int, separator: str
) -> None:
    assert folded(f"{word}{separator}{one}") == folded(f"{word}{separator}{other}")


def test_the_script_of_a_command_line() -> None:
    assert script_of("sbatch -A nlp --mem=4G jobs/train.sh --lr 3e-4") == "train.sh"
    assert script_of("sbatch --wrap 'python fit.py --seed 3'") == "fit.py"
    assert script_of("srun hostname") is None


@pytest.mark.parametrize(
    ("pod", "manifest"),
    [
        ("web-7d9f8b6c5d-x2x9k", "web"),
        ("train-resnet-tqrjd", "train-resnet"),
        ("nightly-28391040-s2ql4", "nightly"),
        ("serve-https", "serve-https"),
        ("train-model", "train-model"),
    ],
)
def test_a_pod_has_the_name_of_its_manifest(pod: str, manifest: str) -> None:
    assert folded(pod) == folded(manifest) == manifest
