"""What Slurm writes into its accounting text: memory, TRES and state words.

Every function takes a column of text and returns an expression, so it runs on any
engine; the regular expressions use only what both RE2 and Java know. Slurm's K, M and
G are powers of 1024.
"""

from __future__ import annotations

from dataclasses import dataclass

import ibis

_AMOUNT = r"^([0-9]+(?:[.][0-9]+)?)([KMGTPE]?)B?$"
_REQUEST = r"^([0-9]+(?:[.][0-9]+)?)([KMGTPE]?)B?([nc]?)$"
_GRES = (
    r"(?:^|,)(?:gres[:/])?gpu(?::([^:,()=]*[A-Za-z][^:,()=]*))?(?:[:=]([0-9]+))?(?:[(][^)]*[)])?"
    r"(?:,|$)"
)
_GIB = {
    "K": 2.0**-20,
    "M": 2.0**-10,
    "G": 1.0,
    "T": 2.0**10,
    "P": 2.0**20,
    "E": 2.0**30,
}
#: Slurm marks memory per CPU with the top bit of a 32-bit number of MB; old versions print it
PER_CPU_FLAG_GIB = 2.0**31 * _GIB["M"]
#: no job asks for this much per CPU: the 64-bit mark, whose low bits a float cannot hold
_ABSURD_GIB = 2.0**32 * _GIB["M"]

#: our status -> the words and short codes of Slurm's job states
STATES = {
    "completed": "COMPLETED CD",
    "failed": "FAILED F SPECIAL_EXIT SE",
    "cancelled": "CANCELLED CA REVOKED RV",
    "timeout": "TIMEOUT TO DEADLINE DL",
    "oom": "OUT_OF_MEMORY OOM",
    "node_fail": "NODE_FAIL NF BOOT_FAIL BF LAUNCH_FAILED RECONFIG_FAIL",
    "preempted": "PREEMPTED PR REQUEUED RQ",
    "running": "RUNNING R COMPLETING CG SUSPENDED S STOPPED ST RESIZING RS SIGNALING STAGE_OUT",
    "pending": "PENDING PD CONFIGURING CF REQUEUE_HOLD REQUEUE_FED RESV_DEL_HOLD",
}
#: width of the state in sacct's tables; longer words are cut and end in +
_STATE_WIDTH = 10


@dataclass(frozen=True)
class RequestedMemory:
    """A ReqMem column taken apart; amounts in GiB, each missing where another one applies."""

    per_node: ibis.Value
    per_cpu: ibis.Value
    of_job: ibis.Value
    #: the per-CPU mark was folded into the number and has been taken out again
    unfolded: ibis.Value
    #: neither empty nor an amount
    broken: ibis.Value


def status(state: ibis.Value) -> ibis.Value:
    """Return our status for ``COMPLETED``, ``CANCELLED by 123``, ``OUT_OF_ME+`` ..."""
    word = state.upper().re_extract(r"^([A-Z_]+)", 1)
    branches = []
    for ours, words in STATES.items():
        cut = [full[: _STATE_WIDTH - 1] for full in words.split() if len(full) > _STATE_WIDTH]
        branches.append((word.isin([*words.split(), *cut]), ours))
    return ibis.cases(*branches, else_="unknown")


def gib(text: ibis.Value, *, plain: str = "") -> ibis.Value:
    """Return GiB of ``1234K`` or ``1.5G``; a number without unit counts as ``plain``, or bytes."""
    return _number(text.re_extract(_AMOUNT, 1)) * _unit(text.re_extract(_AMOUNT, 2), plain)


def requested_memory(text: ibis.Value) -> RequestedMemory:
    """Take ``31000Mn`` (per node), ``2800Mc`` (per CPU) or ``4G`` (whole job) apart.

    ``0`` means all memory of the node, whatever it has: it becomes missing. Old Slurm
    versions print the per-CPU mark as part of the number (2147486648Mn = 3000 MB per CPU).
    """
    amount = _number(text.re_extract(_REQUEST, 1)) * _unit(text.re_extract(_REQUEST, 2), "M")
    kind = text.re_extract(_REQUEST, 3)
    folded = (amount >= PER_CPU_FLAG_GIB) & (amount < _ABSURD_GIB)
    value = ibis.cases(
        (amount >= _ABSURD_GIB, ibis.null("float64")),
        (folded, amount - PER_CPU_FLAG_GIB),
        else_=amount,
    ).nullif(0.0)
    nothing = ibis.null("float64")
    return RequestedMemory(
        per_node=((kind == "n") & ~folded).ifelse(value, nothing),
        per_cpu=((kind == "c") | folded).ifelse(value, nothing),
        of_job=((kind == "") & ~folded).ifelse(value, nothing),
        unfolded=folded,
        broken=amount.isnull() & text.notnull(),
    )


def tres(text: ibis.Value, key: str) -> ibis.Value:
    """Return the text of one resource in ``cpu=8,mem=24000M,node=1``, missing if not listed."""
    return text.re_extract(rf"(?:^|,){key}=([^,]*)", 1).nullif("")


def tres_number(text: ibis.Value, key: str) -> ibis.Value:
    """Return a resource of a TRES text as a plain number."""
    return tres(text, key).try_cast("float64")


def tres_gib(text: ibis.Value, key: str = "mem") -> ibis.Value:
    """Return a resource of a TRES text in GiB; without unit it is bytes."""
    return gib(tres(text, key))


def tres_gpus(text: ibis.Value) -> ibis.Value:
    """Return the GPUs of a TRES text, missing if none are listed.

    ``gres/gpu=2`` counts all of them; ``gres/gpu:a100=1,gres/gpu:v100=1`` are added up
    only where that total is absent.
    """
    typed = r"(?:^|,)gres/gpu:[^=,]+=([0-9]+)"
    first = _number(text.re_extract(typed, 1))
    second = _number(text.re_extract(typed + r",gres/gpu:[^=,]+=([0-9]+)", 2))
    return ibis.coalesce(
        tres_number(text, "gres/gpu"), first + ibis.coalesce(second, ibis.literal(0.0))
    )


def tres_gpu_type(text: ibis.Value) -> ibis.Value:
    """Return the type in ``gres/gpu:a100=2``, missing if none is named."""
    return text.re_extract(r"(?:^|,)gres/gpu:([^=,]+)=", 1).nullif("")


def gres_gpus(text: ibis.Value) -> ibis.Value:
    """Return the GPUs per node of ``gpu:2``, ``gpu:a100:2`` or ``gpu``; missing if no GPU."""
    found = text.re_search(_GRES)
    count = ibis.coalesce(_number(text.re_extract(_GRES, 2)), ibis.literal(1.0))
    return found.ifelse(count, ibis.null("float64"))


def gres_gpu_type(text: ibis.Value) -> ibis.Value:
    """Return the type in ``gpu:a100:2``, missing if none is named."""
    return text.re_extract(_GRES, 1).nullif("")


def features(constraint: ibis.Value) -> ibis.Value:
    """Return the node features that a constraint demands, joined by |.

    ``ib&gpu`` demands both. Missing where a choice (``a|b``) or a count is asked for: that is
    not a demand every node has to meet.
    """
    every = r"^[A-Za-z0-9_.:-]+([&,][A-Za-z0-9_.:-]+)*$"
    return constraint.re_search(every).ifelse(
        constraint.re_replace("[&,]", "|"), ibis.null("string")
    )


def _number(text: ibis.Value) -> ibis.Value:
    return text.nullif("").try_cast("float64")


def _unit(letter: ibis.Value, plain: str) -> ibis.Value:
    return letter.cases(*_GIB.items(), else_=_GIB.get(plain, 2.0**-30))
