from __future__ import annotations

from collections.abc import Callable

import ibis
import pytest

from prophase.trace.readers import sacct_cells as slurm
from prophase.trace.schema import STATUSES
from prophase.trace.text_formats import elapsed_s

ENGINE = ibis.duckdb.connect()


def result(expression: Callable[[ibis.Value], ibis.Value], text: str | None) -> object:
    table = ibis.memtable({"text": [text]}, schema={"text": "string"})
    value = ENGINE.to_pyarrow(table.select(x=expression(table.text)))
    return value["x"][0].as_py()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5-00:00:26", 432026.0),
        ("00:07:00", 420.0),
        ("01:02.345", 62.345),
        ("100:00:00", 360000.0),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        (None, None),
    ],
)
def test_elapsed_text_becomes_seconds(text: str | None, seconds: float | None) -> None:
    assert result(elapsed_s, text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "gib"),
    [("1048576K", 1.0), ("1.5G", 1.5), ("2T", 2048.0), ("1073741824", 1.0), ("x", None)],
)
def test_amounts_of_memory_are_powers_of_1024_and_bytes_without_unit(
    text: str, gib: float | None
) -> None:
    assert result(slurm.gib, text) == gib


@pytest.mark.parametrize(
    ("text", "per_node", "per_cpu", "of_job"),
    [
        ("1024Mn", 1.0, None, None),
        ("2Gc", None, 2.0, None),
        ("4G", None, None, 4.0),
        ("512", None, None, 0.5),
        ("0n", None, None, None),
        # 0x80000000 + 3000: the per-CPU mark printed as part of the number
        ("2147486648Mn", None, 3000 / 1024, None),
        # the same mark in 64 bits, whose amount is lost
        ("9223372036854779808M", None, None, None),
    ],
)
def test_requested_memory_says_what_it_is_per(
    text: str, per_node: float | None, per_cpu: float | None, of_job: float | None
) -> None:
    assert result(lambda t: slurm.requested_memory(t).per_node, text) == per_node
    assert result(lambda t: slurm.requested_memory(t).per_cpu, text) == per_cpu
    assert result(lambda t: slurm.requested_memory(t).of_job, text) == of_job


def test_requested_memory_that_is_no_amount_is_broken() -> None:
    assert result(lambda t: slurm.requested_memory(t).broken, "plenty") is True
    assert result(lambda t: slurm.requested_memory(t).broken, "0n") is False


@pytest.mark.parametrize(
    ("text", "gpus", "kind"),
    [
        ("cpu=8,gres/gpu=2,mem=1G", 2.0, None),
        ("gres/gpu=2,gres/gpu:a100=2", 2.0, "a100"),
        ("cpu=1,gres/gpu:a100=1,gres/gpu:v100=2", 3.0, "a100"),
        ("cpu=1,mem=1G", None, None),
    ],
)
def test_gpus_of_a_tres_text_are_counted_once(
    text: str, gpus: float | None, kind: str | None
) -> None:
    assert result(slurm.tres_gpus, text) == gpus
    assert result(slurm.tres_gpu_type, text) == kind


@pytest.mark.parametrize(
    ("text", "gpus", "kind"),
    [
        ("gpu:2", 2.0, None),
        ("gpu", 1.0, None),
        ("gpu:a100:4", 4.0, "a100"),
        ("gpu:1g.5gb:1", 1.0, "1g.5gb"),
        ("gpu:2(S:0-1)", 2.0, None),
        ("license:1,gpu:3", 3.0, None),
        ("gpumem:5", None, None),
    ],
)
def test_gpus_of_a_gres_text(text: str, gpus: float | None, kind: str | None) -> None:
    assert result(slurm.gres_gpus, text) == gpus
    assert result(slurm.gres_gpu_type, text) == kind


def test_resources_of_a_tres_text_are_found_by_their_whole_name() -> None:
    text = "billing=96,cpu=96,mem=62.50G,node=3"
    assert result(lambda t: slurm.tres_number(t, "cpu"), text) == 96.0
    assert result(lambda t: slurm.tres_number(t, "node"), text) == 3.0
    assert result(slurm.tres_gib, text) == 62.5
    assert result(lambda t: slurm.tres_number(t, "pu"), text) is None


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("COMPLETED", "completed"),
        ("CANCELLED by 380693", "cancelled"),
        ("CANCELLED+", "cancelled"),
        ("OUT_OF_MEMORY", "oom"),
        ("OUT_OF_ME+", "oom"),
        ("NODE_FAIL", "node_fail"),
        ("TIMEOUT", "timeout"),
        ("PREEMPTED", "preempted"),
        ("PENDING", "pending"),
        ("PD", "pending"),
        ("something new", "unknown"),
        (None, "unknown"),
    ],
)
def test_state_words_become_our_status(state: str | None, status: str) -> None:
    assert result(slurm.status, state) == status


def test_every_status_slurm_can_have_is_one_of_ours() -> None:
    assert set(slurm.STATES) <= set(STATUSES)
