from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingExtraError, ModelFileError, ParameterError
from prophase.profile.predict import text_encoder
from prophase.profile.predict.evaluation import evaluate
from prophase.profile.predict.job_model import JobModel, learn
from prophase.profile.predict.meaning_memory import MeaningMemory
from prophase.profile.predict.methods import predictor_named
from prophase.profile.predict.text_encoder import Directions, encoder_named

WORDS = {
    "animals": "cat dog horse cow sheep goat rabbit lion tiger wolf fox bear deer elephant monkey "
    "pig mouse donkey camel zebra giraffe leopard kangaroo dolphin whale shark salmon eagle hawk",
    "food": "bread butter cheese milk rice pasta soup salad pizza burger sandwich sausage bacon "
    "steak potato tomato onion garlic carrot apple banana orange lemon grape cherry peach cake",
    "vehicles": "car truck bus train tram bicycle motorcycle scooter airplane helicopter boat ship "
    "ferry yacht van taxi jeep tractor ambulance lorry wagon carriage subway jet rocket canoe",
}
RUN_S = {"animals": 30.0, "food": 600.0, "vehicles": 9_000.0}


class Dictionary:
    """An encoder that knows which words belong together."""

    name = "dictionary"

    def __init__(self, away: float = 0.0) -> None:
        topics = [set(words.split()) for words in WORDS.values()]
        self._topics = topics
        self._away = away

    def __call__(self, texts: Sequence[str]) -> Directions:
        found = np.zeros((len(texts), len(self._topics) + 8), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            said = text.split()
            row[:3] = [sum(word in topic for word in said) for topic in self._topics]
            for word in said:
                # no two words are quite the same
                row[3:] += 0.1 * np.random.default_rng(list(word.encode())).normal(size=8)
            row[-1] += self._away
        length = np.linalg.norm(found, axis=1, keepdims=True)
        return (found / np.where(length > 0, length, 1.0)).astype(np.float32)


@pytest.fixture
def _dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder_named.cache_clear()
    monkeypatch.setitem(text_encoder._MADE, "dictionary", Dictionary)


def growing_vocabulary(count: int, *, seed: int = 0, means: bool = True) -> pd.DataFrame:
    """Jobs whose names have words that were hardly ever used before, of three topics."""
    draw = np.random.default_rng(seed)
    rows = []
    for place in range(count):
        topic = list(WORDS)[draw.integers(3)]
        words = WORDS[topic].split()
        latest = words[: max(3, len(words) * (place + 1) // count)][-6:]
        run = RUN_S[topic if means else list(WORDS)[draw.integers(3)]]
        name = f"{' '.join(draw.choice(latest, 2, replace=False))} {draw.integers(99)}"
        rows.append((name, 1e9 + 20_000.0 * place, run * np.exp(draw.normal(0, 0.1))))
    jobs = pd.DataFrame(rows, columns=["name", "submit_s", "duration_s"])
    return jobs.assign(end_s=jobs["submit_s"] + jobs["duration_s"])


def within_a_factor_of_two(told: pd.DataFrame, jobs: pd.DataFrame) -> float:
    return float((np.abs(np.log(told["value"] / jobs["duration_s"])) < np.log(2)).mean())


@pytest.mark.usefixtures("_dictionary")
def test_new_words_of_a_known_meaning_are_told_by_jobs_of_that_meaning(tmp_path: Path) -> None:
    jobs = growing_vocabulary(240)
    known, asked = jobs[:192], jobs[192:]
    words = learn(known, ["duration_s"]).predict(asked)
    model = learn(known, ["duration_s"], method="default+dictionary")
    told = model.predict(asked)
    assert model.method == "mixture+dictionary"
    assert model.notes == ()
    assert within_a_factor_of_two(told, asked) > within_a_factor_of_two(words, asked) + 0.2
    assert told["reason"].str.contains("words of nearly the same meaning in name").any()
    model.save(tmp_path / "a.model")
    back = JobModel.load(tmp_path / "a.model")
    pd.testing.assert_frame_equal(back.predict(asked), told)
    for one in (model, back):
        one.update(asked[:20])
    pd.testing.assert_frame_equal(back.predict(asked[20:]), model.predict(asked[20:]))


@pytest.mark.usefixtures("_dictionary")
def test_an_encoder_that_does_not_win_on_later_jobs_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = growing_vocabulary(240, means=False)
    known, asked = jobs[:192], jobs[192:]
    model = learn(known, ["duration_s"], method="mixture+dictionary")
    assert any("dictionary did not win on later parts" in note for note in model.notes)
    told = model.predict(asked)
    pd.testing.assert_frame_equal(told, learn(known, ["duration_s"]).predict(asked))
    # and is not needed to answer
    model.save(tmp_path / "a.model")
    monkeypatch.delitem(text_encoder._MADE, "dictionary")
    encoder_named.cache_clear()
    pd.testing.assert_frame_equal(JobModel.load(tmp_path / "a.model").predict(asked), told)


@pytest.mark.usefixtures("_dictionary")
def test_a_model_is_refused_by_another_version_of_its_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(growing_vocabulary(240), ["duration_s"], method="mixture+dictionary").save(
        tmp_path / "a.model"
    )
    monkeypatch.setitem(text_encoder._MADE, "dictionary", lambda: Dictionary(away=1.0))
    encoder_named.cache_clear()
    with pytest.raises(ModelFileError, match="dictionary is of another version"):
        JobModel.load(tmp_path / "a.model")


@pytest.mark.usefixtures("_dictionary")
def test_meanings_of_jobs_that_end_later_are_not_known_yet() -> None:
    jobs = growing_vocabulary(240)
    known, later = jobs[:192], jobs[192:].assign(duration_s=7.0)
    # nothing of these ends before the last of them is submitted
    later["end_s"] = later["submit_s"].max() + 1.0
    methods = ["mixture+dictionary"]
    online = evaluate(known, later, methods, online=True).answers[methods[0]]
    once = evaluate(known, later, methods).answers[methods[0]]
    np.testing.assert_allclose(online["value"], once["value"])


@pytest.mark.usefixtures("_dictionary")
def test_of_many_texts_those_of_most_jobs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prophase.profile.predict.meaning_memory._MOST", 2)
    held = MeaningMemory("dictionary")
    keys = np.array([1, 2, 3], dtype=np.uint64)
    texts = ["cat", "bread", ""]
    which = np.array([0, 0, 1, 1, 2])
    held.add(held.read(texts, keys, which), np.arange(5.0), np.array([1.0, 1.0, 5.0, 5.0, 9.0]))
    new = np.array([4], dtype=np.uint64)
    held.add(held.read(["bus"], new, np.array([0])), np.array([9.0]), np.array([7.0]))
    asked = held.read(["dog", "bus", ""], np.array([8, 4, 9], dtype=np.uint64), np.arange(3))
    told = held.recall(asked, np.full(3, 10.0), variance=4.0)
    # a text that says nothing, and one that had to go
    assert told.known.tolist() == [True, True, False]
    assert abs(told.mean[0] - 1.0) < 0.2
    assert abs(told.mean[1] - 7.0) > 1.0


def test_only_methods_that_read_names_take_an_encoder() -> None:
    with pytest.raises(ParameterError, match="does not read names"):
        predictor_named("backoff-median+wordllama")
    with pytest.raises(ParameterError, match="no text encoder 'wordlama'"):
        predictor_named("default+wordlama")


def test_without_its_package_an_encoder_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder_named.cache_clear()
    monkeypatch.setattr(text_encoder, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"prophase\[text\]"):
        predictor_named("mixture+wordllama")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="wordllama has no wheel for Python 3.14")
def test_wordllama_finds_like_meanings_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("wordllama") is None:
        pytest.skip("wordllama is not installed")
    encoder_named.cache_clear()

    def refuse(*_: object) -> None:
        raise AssertionError("the encoder asked the network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    texts = ["train resnet on imagenet", "fit a neural network to images", "sort files", ""]
    found = encoder_named("wordllama")(texts)
    alike = found @ found.T
    assert alike[0, 1] > alike[0, 2]
    np.testing.assert_allclose(np.diag(alike), [1, 1, 1, 0], atol=1e-5)
    jobs = growing_vocabulary(240)
    told = learn(jobs[:192], ["duration_s"], method="mixture+wordllama").predict(jobs[192:])
    assert within_a_factor_of_two(told, jobs[192:]) > 0.75
