"""Names, scripts, images and command lines read as text: words, pairs of words, and numbers.

A name such as ``NFCORE_RNASEQ:FASTQC (sample_12)`` is not one of many thousand values but a few
words, which other jobs share, and a number. Words are folded to lower case; each is a token, and so
are a word with the number behind it and two words side by side. Tokens are hashed, so nothing grows
with the number of different words. What looks like a hash or an id is one token, not many.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from prophase.array_types import Bools, Floats, Ints
from prophase.profile.predict.back_off_keys import CLUSTER_COLUMNS, Keys
from prophase.profile.predict.submit_columns import Columns, is_number

#: whose job it is and where it waits are names, not texts
_NO_TEXT = ("user", "group", "queue", "tenant", "kind", "gpu_type", *CLUSTER_COLUMNS)
_MOST_COLUMNS = 4
#: tokens per job, and characters of a text that are read
_TOKENS = 24
_LONGEST = 240
#: different values that are looked at to tell texts from labels, and fewer than that tell nothing
_LOOKED_AT, _FEWEST_VALUES = 2_000, 8
#: a word that this share of the values has tells them apart; half of the values have one
_IN_NEARLY_ALL, _HAVE_ONE = 0.8, 0.5
#: pieces of letters and digits from which on a word is a hash or an id
_OPAQUE = 4
#: words that only announce a number: jobs that share them have nothing in common
_EMPTY = frozenset(("id", "uid", "job", "jobid", "task", "run", "no", "nr", "num"))
_MOST_NUMBERS = 8
#: a number counts if this share of the jobs has it
_OFTEN = 0.1
#: numbers that rise with the clock, such as dates and counters, never come back
_RISES = 0.8
#: stands where a job has fewer tokens
NO_TOKEN = np.uint64(0)

#: a UUID; letters and digits, with what makes a number of them: 0.01, 1e-4
_CHUNKS = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?:(?<=[0-9])(?:\.|[eE]-)(?=[0-9])|[^\W_])+"
)
_NUMBER = r"[0-9]+(?:\.[0-9]+)*(?:[eE]-[0-9]{1,2}(?![^\W_]))?"
_CAPITAL = "A-ZÀ-ÖØ-Þ"
#: Chinese and Japanese are written without spaces: pairs of characters stand for words
_CHARACTER = "\u3040-\u30ff\u3400-\u9fff"
_PIECES = re.compile(
    rf"{_NUMBER}|[{_CHARACTER}]|[{_CAPITAL}]*[^\W\d_{_CAPITAL}{_CHARACTER}]+|[{_CAPITAL}]+"
)
_DATES = re.compile(
    r"(?<![0-9])((?:19|20)[0-9]{2})([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12][0-9]|3[01])(?![0-9])"
)


@dataclass(frozen=True)
class JobText:
    """Words of a text in order, and the numbers that stand behind them."""

    words: tuple[str, ...]
    #: word before it -> number
    numbers: dict[str, str]

    @classmethod
    def of(cls, value: str) -> JobText:
        """Read a text.

        Examples
        --------
        >>> read = JobText.of("TrainResNet lr=0.01 --shard 7")
        >>> read.words, read.numbers
        (('train', 'res', 'net', 'lr', 'shard'), {'lr': '0.01', 'shard': '7'})
        >>> JobText.of("290d9b6f43193").words
        ('290d9b6f43193',)
        >>> JobText.of("sweep_lr1e-4_2024-05-01").numbers
        {'date': '20240501', 'lr': '1e-4'}
        """
        words: list[str] = []
        found: dict[str, str] = {}
        text = unicodedata.normalize("NFKC", value[:_LONGEST])
        if date := _DATES.search(text):
            found["date"] = date[1] + date[3] + date[4]
            text = _DATES.sub(" ", text)
        for chunk in _CHUNKS.findall(text):
            pieces = _PIECES.findall(chunk)
            opaque = chunk.isascii() and len(pieces) >= _OPAQUE
            if opaque and any(piece[0].isdigit() for piece in pieces):
                words.append(chunk.lower())
                continue
            for piece in pieces:
                if piece[0].isdigit():
                    found.setdefault(words[-1] if words else "", piece)
                else:
                    words.append(piece.lower())
        return cls(tuple(words), found)

    def tokens(self) -> list[str]:
        """Return words, pairs of neighbours and words with numbers, the last words first.

        Examples
        --------
        >>> JobText.of("mProject_ID0000038").tokens(), JobText.of("run_7").tokens()
        (['project', 'm', 'm project'], [])
        """
        words = [word for word in self.words[::-1] if word not in _EMPTY]
        pairs = [f"{two} {one}" for one, two in pairwise(words)]
        counts = [f"{word}={n}" for word, n in self.numbers.items() if word not in _EMPTY]
        return list(dict.fromkeys([*words, *counts, *pairs]))


@dataclass(frozen=True)
class TextColumns:
    """Columns of a history that are read as text, and the numbers in them that tell something."""

    names: tuple[str, ...]
    #: column and word of each number
    numbers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, jobs: pd.DataFrame, arrival: Floats) -> TextColumns:
        """Find them among submit-time columns.

        Examples
        --------
        >>> jobs = pd.DataFrame(
        ...     {"name": [f"{w} n={n}" for w in ("sort", "align") for n in "12345"]}
        ... )
        >>> found = TextColumns.of(jobs, np.array([0.0] * 10))
        >>> found.names, found.numbers
        (('name',), (('name', 'n'),))
        """
        names = [
            name for name in map(str, jobs)
            if name not in _NO_TEXT and not is_number(jobs, name) and _is_text(jobs[name])
        ][:_MOST_COLUMNS]  # fmt: skip
        found = cls(tuple(names))
        return cls(found.names, found._telling_numbers(jobs, arrival))

    def tokens(self, jobs: pd.DataFrame | Columns) -> Keys:
        """Return the hashed tokens of each job, padded with :data:`NO_TOKEN`."""
        each = _TOKENS // max(len(self.names), 1)
        parts = [_hashed(jobs, name, each) for name in self.names if name in jobs]
        if not parts:
            return np.zeros((len(jobs), 0), dtype=np.uint64)
        # what two columns say alike counts once
        found = np.sort(np.concatenate(parts, axis=1), axis=1)
        found[:, 1:][found[:, 1:] == found[:, :-1]] = NO_TOKEN
        return found

    def sentences(self, jobs: pd.DataFrame | Columns) -> tuple[list[str], Keys, Ints]:
        """Return different texts without their numbers, their hashes, and which each job has."""
        said = np.full(len(jobs), "", dtype=object)
        for name in [name for name in self.names if name in jobs]:
            code, texts = _different(jobs, name)
            own = [" ".join(w for w in text.words if w not in _EMPTY) + " " for text in texts]
            said = said + np.array([*own, ""], dtype=object)[code]
        which, different = pd.factorize(said)
        keys = pd.util.hash_array(np.asarray(different, dtype=object), categorize=False)
        return [str(one).strip() for one in different], keys, which

    def values(self, jobs: pd.DataFrame | Columns) -> Floats:
        """Return the numbers of each job, a column per number; NaN where it has none."""
        found = np.full((len(jobs), len(self.numbers)), np.nan)
        for name in {name for name, _ in self.numbers if name in jobs}:
            code, texts = _different(jobs, name)
            for place, (column, word) in enumerate(self.numbers):
                if column == name:
                    own = [_as_number(text.numbers.get(word)) for text in texts]
                    found[:, place] = np.array([*own, np.nan])[code]
        return found

    def _telling_numbers(self, jobs: pd.DataFrame, arrival: Floats) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for name in self.names:
            code, texts = _different(jobs, name)
            weight = np.bincount(code[code >= 0], minlength=len(texts))
            often: Counter[str] = Counter()
            for text, count in zip(texts, weight.tolist(), strict=True):
                often.update(dict.fromkeys(text.numbers, count))
            found += [(name, w) for w, count in often.most_common() if count >= _OFTEN * len(jobs)]
        values = TextColumns(self.names, tuple(found)).values(jobs)
        kept = [
            one for one, held in zip(found, values.T, strict=True)
            if pd.Series(held).nunique() > 2 and not _rises(held, arrival)
        ]  # fmt: skip
        return tuple(kept[:_MOST_NUMBERS])


def hidden(keys: Keys) -> Bools:
    """Say which words are hidden from a job that is made a stranger: two of three.

    About a third of the words of a workflow that was left out are known from others. The last
    digit of a hash is as good as a draw, and the same for every job of a word.
    """
    return np.asarray(keys % np.uint64(3) != 0)


def _is_text(values: pd.Series) -> bool:
    """Say whether the values of a column share words."""
    different = values.dropna().astype(str).unique()
    if len(different) < _FEWEST_VALUES:
        return False
    some = different[:: 1 + len(different) // _LOOKED_AT]
    texts = [set(JobText.of(value).words) for value in some]
    often = Counter(word for words in texts for word in words)
    telling = {word for word, count in often.items() if 1 < count < _IN_NEARLY_ALL * len(texts)}
    return sum(bool(words & telling) for words in texts) >= _HAVE_ONE * len(texts)


def _different(jobs: pd.DataFrame | Columns, name: str) -> tuple[Ints, list[JobText]]:
    """Return which different text each job has, -1 if none, and these texts."""
    code, values = pd.factorize(np.asarray(jobs[name], dtype=object))
    return code, [JobText.of(str(value)) for value in values]


def _hashed(jobs: pd.DataFrame | Columns, name: str, most: int) -> Keys:
    code, texts = _different(jobs, name)
    # the last row is that of a job without a text
    found = np.full((len(texts) + 1, most), NO_TOKEN, dtype=np.uint64)
    lists = [text.tokens()[:most] for text in texts]
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    flat = np.array([token for one in lists for token in one], dtype=object)
    if len(flat):
        place = np.arange(most)[None, :] < lengths[:, None]
        found[:-1][place] = pd.util.hash_array(flat, categorize=len(flat) > 100)
    return found[code]


def _as_number(text: str | None) -> float:
    if text is None or text.count(".") > 1:
        return np.nan
    return float(text)


def _rises(values: Floats, arrival: Floats) -> bool:
    known = np.isfinite(values) & np.isfinite(arrival)
    if known.sum() < 3 or np.ptp(arrival[known]) == 0 or np.ptp(values[known]) == 0:
        return False
    ranks = pd.Series(values[known]).rank()
    return abs(float(ranks.corr(pd.Series(arrival[known]).rank()))) > _RISES
