"""Names with what differs from run to run taken out, so that runs of one program share a name.

Running numbers, dates, hashes, array indices and values of parameters become ``#``. A number that
belongs to a word (``bwa2``, ``gpt2``, ``resnet50``, ``v100``, ``python3.11``) tells programs apart
and stays, unless it is long, begins with 0, or follows a word such as ``lr`` or ``seed``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

#: "words" keeps numbers that belong to a word, "all" folds every number
NumbersFolded = Literal["words", "all"]
FOLDED = "#"

#: words that are followed by a value or a running number, not by a version
COUNTED = frozenset(
    "alpha arr array attempt batch batches batchsize beta bs chr chunk cv depth dim drop dropout "
    "ep epoch epochs eps exp experiment fold gamma hidden id idx index input inst instance it item "
    "iter iteration iters job jobid lambda layer layers len length lr mb momentum n nodes num part "
    "patch patient pid rank rep repeat replica round run runid sample seed shard size split step "
    "steps subset sweep task temp test trial try wd weight width worker".split()
)
#: digits of a number that is no version
_LONG = 4
_HEX = r"[0-9a-f]{7,}|[0-9A-F]{7,}"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_DAY = r"(?:19|20)[0-9]{2}([-_./]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12][0-9]|3[01])"
_HOUR = r"(?:[T_ -]?[0-2][0-9][:_.-]?[0-5][0-9](?:[:_.-]?[0-5][0-9])?(?:[.][0-9]+)?Z?)?"
_STAMP = re.compile(rf"(?<![0-9A-Za-z])(?:{_UUID})(?![0-9A-Za-z])|(?<![0-9]){_DAY}{_HOUR}(?![0-9])")
#: 3e-4, after a word or alone
_SCIENTIFIC = re.compile(r"(?<![0-9.])[0-9]+(?:[.][0-9]+)?[eE][-+]?[0-9]+(?![0-9A-Za-z])")
#: letters and digits, with the dots of a number
_WORD = re.compile(r"[0-9A-Za-z]+(?:(?<=[0-9])[.][0-9]+(?![A-Za-z]))*")
_HASH = re.compile(rf"(?:{_HEX})\Z")
#: what Kubernetes hangs on the names of Deployments, CronJobs and Jobs, in characters that make no
#: words; without it a pod has the name of its manifest. Five digits are a number
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]{5}"
_POD = re.compile(
    rf"(?<=[0-9a-z])(?:-[bcdf0-9]{{8,10}}|-[23][0-9]{{7}})?-(?![0-9]{{5}}|https|lstms|smtps|xhtml){_RANDOM}\Z"
)
_DIGITS = re.compile(r"([A-Za-z]*)([0-9]+(?:[.][0-9]+)*)")
_REPEATED = re.compile(r"#(?:[-_.:, ]*#)+")


@lru_cache(maxsize=65536)
def folded(name: str, numbers: NumbersFolded = "words") -> str:
    """Return a name with ``#`` for what differs from run to run.

    Examples
    --------
    >>> folded("train_0017_lr3e-4"), folded("train_0018_lr1e-3")
    ('train_#_lr#', 'train_#_lr#')
    >>> folded("etl-2024-05-01T12:30"), folded("map[17]"), folded("resnet50_seed7")
    ('etl-#', 'map[#]', 'resnet50_seed#')
    >>> folded("resnet50", "all"), folded("train-tqrjd"), folded("web-7d9f8b6c5d-x2x4z")
    ('resnet#', 'train', 'web')
    >>> folded("train-24567") == folded("train-13579") == "train-#"
    True
    """
    text = _STAMP.sub(FOLDED, _POD.sub("", name))
    text = _SCIENTIFIC.sub(FOLDED, text)
    text = _WORD.sub(lambda found: _word(found[0], numbers), text)
    return _REPEATED.sub(FOLDED, text)


def _word(word: str, numbers: NumbersFolded) -> str:
    """Fold one word: all of it, some of its numbers, or nothing."""
    if word.isalpha():
        return word
    if word[0].isdigit() and not any(letter.isalpha() for letter in word):
        return FOLDED
    if _HASH.match(word) and sum(letter.isdigit() for letter in word) > 1:
        return FOLDED
    return _DIGITS.sub(lambda found: found[1] + _number(found[1], found[2], numbers), word)


def _number(before: str, digits: str, numbers: NumbersFolded) -> str:
    long = len(digits.partition(".")[0]) >= _LONG
    counted = before.lower() in COUNTED
    padded = len(digits) > 1 and digits[0] == "0"
    return FOLDED if numbers == "all" or long or counted or padded else digits


@lru_cache(maxsize=65536)
def folded_numbers(name: str) -> dict[str, float]:
    """Return the numbers that folding takes out of a name, as attributes of the job.

    A number is called by its word (``lr``, ``seed``); a running number without one is ``number``.
    Dates, times and hashes are none.

    Examples
    --------
    >>> folded_numbers("train_0017_lr3e-4")
    {'number': 17.0, 'lr': 0.0003}
    >>> folded_numbers("resnet50_seed7_2024-05-01"), folded_numbers("fit-bs=64_part_3")
    ({'seed': 7.0}, {'bs': 64.0, 'part': 3.0})
    """
    found: dict[str, float] = {}
    for word, gap, digits in _NUMBERED.findall(_STAMP.sub(" ", _POD.sub("", name))):
        counted = word.lower() in COUNTED
        alone = not word or (gap and not counted and gap != "=")
        if not alone and not gap and not counted and _number(word, digits, "words") != FOLDED:
            # a version, which belongs to the word
            continue
        if len(digits.partition(".")[0]) <= _MOST_DIGITS:
            found.setdefault("number" if alone else word.lower(), float(digits))
    return found


#: digits of a number that counts something; more are a time or an id
_MOST_DIGITS = 7
_NUMBERED = re.compile(
    r"(?<![0-9A-Za-z.])([A-Za-z]*)([-_=:. \[]?)([0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?)"
    r"(?![0-9A-Za-z])"
)


@lru_cache(maxsize=65536)
def script_of(line: str) -> str | None:
    """Return the script that a command line submits; None if it names none.

    Examples
    --------
    >>> script_of("sbatch --mem=4G -A nlp /home/ann/train.sh 17")
    'train.sh'
    """
    found = _SCRIPT.search(line)
    return None if found is None else found[1]


_SCRIPT = re.compile(
    r"(?:^|[\s/'\"=])([^\s/'\"=]+[.](?:sh|bash|csh|zsh|sbatch|slurm|sub|job|pbs|py|R|jl|pl|nf|m))"
    r"(?=$|[\s'\"])"
)
