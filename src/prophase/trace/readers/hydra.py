"""Test cases of the Hydra deadline scheduler: jobs with a run time per GPU type.

Source: Yang et al., "Hydra: Deadline-Aware and Efficiency-Oriented Scheduling for Deep
Learning Jobs on Heterogeneous GPUs", IEEE Transactions on Computers 2023. Its authors
derived the cases from the Alibaba PAI trace of 2020.
"""

from __future__ import annotations

import ibis

from prophase.errors import ParameterError
from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import MISSING_WORDS

_NEEDED = ("job_name", "norm_job_submit_time", "ddl")
_ROW_NUMBER = "column_0"
_GPU_TYPES = ("A100", "V100", "GTX2080Ti")
#: a deadline that never comes is no deadline
_MISSING = (*MISSING_WORDS, "inf", "Infinity")


def _read(dump: Dump) -> Tables:
    found = dump.find("*ddl*.csv")
    cases = having(found, *_NEEDED)
    if not cases:
        dump.sheet(found[0]).need(*_NEEDED)
    wanted = dump.option("case", "")
    chosen = [case for case in cases if not wanted or case.stem == wanted]
    if not chosen:
        raise ParameterError.among(
            f"--option case={wanted}: {dump.root} has no such case.",
            wanted,
            (case.stem for case in cases),
            heading="Known cases",
        )
    dump.note(
        "Of the run times per GPU type one is measured, the others were drawn at random; a "
        "deadline is 1.2 to 3.0 times a run time, so it gives the run time away to a predictor."
    )
    return {"jobs": stack([_jobs(dump, case) for case in chosen])}


def _jobs(dump: Dump, case: SourceFile) -> ibis.Table:
    sheet = dump.sheet(case, missing=_MISSING)
    # the unnamed first column numbers the rows; the published runs take the first 400
    types = [name for name in sheet.columns if name not in (*_NEEDED, _ROW_NUMBER)]
    order = {"submit_order": sheet.number(_ROW_NUMBER)} if sheet.has(_ROW_NUMBER) else {}
    return sheet.select(
        job_id=ibis.literal(f"{case.stem}/") + sheet.text("job_name"),
        parent_id=ibis.literal(case.stem),
        name=sheet.text("job_name"),
        submit_s=sheet.number("norm_job_submit_time"),
        **order,
        instances=ibis.literal(1.0),
        request_gpus=ibis.literal(1.0),
        attr_deadline_s=sheet.number("ddl"),
        **{f"after_duration_{name.lower()}_s": sheet.number(name) for name in types},
    )


READER = Reader(
    name="hydra",
    title="Hydra scheduler cases: jobs with deadlines and a run time per GPU type",
    fills={
        "jobs": [
            *"job_id parent_id name submit_s submit_order instances".split(),
            *"request_gpus attr_deadline_s".split(),
            *(f"after_duration_{name.lower()}_s" for name in _GPU_TYPES),
        ]
    },
    cannot="real arrivals (all jobs arrive at 0), a run time of its own, users, waits and usage",
    read=_read,
    patterns=("*ddl*.csv",),
    signature=_NEEDED,
    trace_of=lambda path: path.name.split(".")[0],
    options={"case": "read only this case, such as 20_ddl; without it all cases are read"},
)
