"""How much memory a GPU has, by the name of its type; makers' data sheets."""

from __future__ import annotations

import re

#: GiB by model; a name that says its size, such as ``A100-SXM4-80GB`` or ``V100M32``, is believed
_BY_MODEL = {
    "K80": 12, "M40": 12, "P4": 8, "P40": 24, "P100": 16, "V100": 16, "T4": 16,
    "A2": 16, "A10": 24, "A16": 16, "A30": 24, "A40": 48, "A100": 40, "A800": 80, "L4": 24,
    "L40": 48, "L40S": 48, "H20": 96, "H100": 80, "H800": 80, "H200": 141, "B200": 180,
    "1080TI": 11, "2080TI": 11, "3090": 24, "4090": 24, "RTX6000": 24, "RTX8000": 48,
    "MI100": 32, "MI210": 64, "MI250": 128, "MI300X": 192,
}  # fmt: skip
_SIZES = (8, 12, 16, 24, 32, 40, 48, 80, 96, 141, 192)
_SAID = re.compile(r"(?<![0-9])([0-9]{1,3})\s*G(?:I?B)?(?![A-Z0-9])|M(32)(?![0-9])", re.IGNORECASE)


def gpu_memory_of(gpu_type: str) -> float | None:
    """Return the memory of a type of GPU in GiB; None if its name does not tell.

    Examples
    --------
    >>> [gpu_memory_of(name) for name in ("T4", "NVIDIA-A100-SXM4-80GB", "V100M32", "gtx2080ti")]
    [16.0, 80.0, 32.0, 11.0]
    >>> gpu_memory_of("MISC") is None
    True
    """
    said = _SAID.search(gpu_type)
    if said:
        return float(said[1] or said[2])
    words = re.split(r"[^A-Z0-9]+", gpu_type.upper())
    joined = "".join(words)
    known = [name for name in _BY_MODEL if name in words]
    known = known or [name for name in _BY_MODEL if len(name) > 2 and joined.endswith(name)]
    return float(_BY_MODEL[max(known, key=len)]) if known else None


def usual_gpu_memory(holds_gib: float) -> float:
    """Return the smallest usual memory of a GPU that holds so much, for a type nobody names.

    Examples
    --------
    >>> usual_gpu_memory(2.5), usual_gpu_memory(39.4)
    (8.0, 40.0)
    """
    return float(next((size for size in _SIZES if size >= holds_gib), holds_gib))
