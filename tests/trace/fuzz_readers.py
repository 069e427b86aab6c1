"""Feed readers broken input: whatever comes, an answer or an error in words, never a traceback.

    python -m tests.trace.fuzz_readers [INPUTS] [SEED] [--reader NAME] [--records]

Each reader gets INPUTS texts (100,000 unless told): sound ones that were cut, mixed, repeated, and
sprinkled with what breaks parsers. A seed gives the same texts again.

A whole file of a trace takes a second to import. With `--records` the inputs of such a reader are
records instead, a thousand broken ones to a file below a sound head and among sound ones: every
sound record must come out, and every other be kept or counted. Records of `sacct --json` stay JSON,
with fields that are gone or hold what nobody expects.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prophase.errors import ProphaseError

SACCT = (
    "JobID|JobName|User|Account|Partition|Submit|Start|End|State|ReqMem|MaxRSS|AllocCPUS|Timelimit|"
    "Elapsed|ReqTRES|NodeList\n"
    "17|train|ann|nlp|gpu|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T01:00:00|COMPLETED|16G|"
    "2000K|4|08:00:00|00:59:00|cpu=4,mem=16G,gres/gpu=1|n1\n"
    "17.batch|batch||nlp||2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T01:00:00|COMPLETED|16G|"
    "3000K|4||00:59:00||n1\n"
    "18_[1-4]|arr|bob|vision|cpu|2024-01-02T00:00:00|Unknown|Unknown|PENDING|4Gc||1|1-00:00:00|"
    "00:00:00|cpu=1|None assigned\n"
)
SACCT_JOB: dict[str, Any] = {
    "job_id": 17, "name": "train", "user": "ann", "account": "nlp", "partition": "gpu",
    "cluster": "c", "qos": "normal", "nodes": "n1", "allocation_nodes": 1, "db_index": 3,
    "association": {"user": "ann", "account": "nlp"}, "priority": {"set": True, "number": 5},
    "array": {"job_id": 0, "task_id": {"set": False, "number": 0}}, "het": {"job_id": 0},
    "state": {"current": ["COMPLETED"], "reason": "None"},
    "exit_code": {"return_code": {"set": True, "number": 0}, "signal": {"id": {"set": False}}},
    "comment": {"job": "x", "administrator": ""}, "required": {"CPUs": 4}, "restart_cnt": 0,
    "time": {"submission": 1704067200, "eligible": 1704067200, "start": 1704067260,
             "end": 1704070800, "elapsed": 3540, "limit": {"set": True, "number": 480}},
    "tres": {"requested": [{"type": "cpu", "name": "", "count": 4}, {"type": "mem", "count": 16384},
                           {"type": "gres", "name": "gpu", "count": 1}],
             "allocated": [{"type": "cpu", "name": "", "count": 4}]},
    "steps": [{"step": {"id": "17.batch", "name": "batch"}, "state": ["COMPLETED"],
               "time": {"total": {"seconds": 9, "microseconds": 5}, "elapsed": 3540},
               "tasks": {"count": 1}, "exit_code": {"return_code": 0},
               "tres": {"requested": {"max": [{"type": "mem", "count": 2048000}],
                                      "average": [{"type": "fs", "name": "disk", "count": 7}]}}}],
}  # fmt: skip
SACCT_JSON = json.dumps({"jobs": [SACCT_JOB, {**SACCT_JOB, "job_id": 18, "steps": []}]}, indent=1)
SWF = (
    "; Version: 2.2\n; UnixStartTime: 1000000\n; MaxNodes: 64\n"
    "1 0 10 100 4 90 2048 4 200 4096 1 3 1 -1 1 1 -1 -1\n"
    "2 60 0 50 1 -1 -1 1 100 -1 0 4 2 5 2 1 1 10\n"
)
CSV = (
    "job_id,user,task,submit_s,start_s,end_s,status,request_memory_gib,memory_peak_gib\n"
    "a,ann,train,0,10,100,completed,16,2\nb,bob,eval,5,20,90,failed,8,1\n"
)
MANIFEST = (
    "apiVersion: batch/v1\nkind: Job\n"
    "metadata:\n  name: bert\n  namespace: ml\n  labels: {team: nlp}\n"
    "spec:\n  completions: 4\n  template:\n    spec:\n      containers:\n      - name: main\n"
    "        image: x\n        resources:\n          requests: {cpu: 4, memory: 16Gi}\n"
    "          limits: {nvidia.com/gpu: 1}\n"
)
SCRIPT = (
    "#!/bin/bash\n#SBATCH --job-name=train -A nlp\n#SBATCH --mem=16G --time=8:00:00\n"
    "#SBATCH --gres=gpu:a100:2\n#SBATCH --cpus-per-task=4 --array=1-10%2\nsrun python train.py\n"
)
#: what breaks parsers
NASTY = [
    "\x00", "\ufeff", "\r", "\t", '"', "'", "|", ",", ";", "\\", "{", "}", "[", "]", "#", "&a *a",
    "NaN", "-1", "1e999", "9" * 30, "2024-13-45", "0x", "1:99:99", "99-99:99:99", "16Gi", "Q", "é",
    "\U0001f600", "\u2028", "Unknown", "None", "null", "!!int x", "!!python/object:os.system",
    "---", "%", "=", "==", "--mem=", "-", "\n\n", " " * 50, "a" * 500, "cpu=", "gres/gpu:",
    "1-", "K", "T",
]  # fmt: skip


#: what no field of a JSON document should hold
ODD: list[Any] = [
    None, True, -1, 0, 1e308, -1.5, 10**20, 10**400, 2**64 - 2, "", "NaN", "x", "\ud800", "\x1f|\n",
    [], [[]], {}, {"set": True}, {"set": True, "number": "x"}, [None], [{"type": 3}], [1, "a"],
    float("nan"), float("inf"), "2024-13-45", "a" * 500,
]  # fmt: skip


def odd(record: Any, chance: random.Random) -> Any:
    """Return a record of JSON with a few fields gone, or of another kind."""
    made = copy.deepcopy(record)
    for _ in range(chance.randrange(1, 6)):
        held = made
        while True:
            places = list(held) if isinstance(held, dict) else list(range(len(held)))
            if not places:
                break
            at = chance.choice(places)
            if isinstance(held[at], dict | list) and held[at] and chance.random() < 0.7:
                held = held[at]
            elif chance.random() < 0.3:
                del held[at]
                break
            else:
                held[at] = copy.deepcopy(chance.choice(ODD))
                break
    return made if chance.random() < 0.99 else chance.choice(ODD)


def broken(text: str, chance: random.Random) -> str:
    """Return a text that was sound once."""
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(text) + 1)
        to = min(len(text), at + chance.randrange(1, 30))
        head, middle, tail = text[:at], text[at:to], text[to:]
        lines = text.split("\n")
        text = (
            head + chance.choice(NASTY) + middle + tail,
            head + tail,
            head + middle * chance.randrange(2, 4) + tail,
            head + chance.choice(NASTY) + tail,
            head,
            "\n".join(chance.sample(lines, len(lines))),
        )[chance.randrange(6)]
    return text


def _submission(name: str) -> Callable[[Path, str], object]:
    from prophase.profile.submission.job_file import read_submissions
    from prophase.profile.submission.submission import as_jobs

    def read(folder: Path, text: str) -> object:
        path = folder / name
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return as_jobs(read_submissions(path))

    return read


def _trace(source: str, name: str) -> Callable[[Path, str], object]:
    from prophase import read

    def read_it(folder: Path, text: str) -> object:
        path = folder / name
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return read(path, source=source).jobs

    return read_it


def _rows_of_json() -> Callable[[Path, str], object]:
    """Return what turns a file of ``sacct --json`` into a dump: the import after it is sacct's."""
    from prophase.trace.readers.sacct_json import file_rows, write_dump

    def read_it(folder: Path, text: str) -> object:
        path = folder / "sacct.json"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return write_dump(file_rows(path, path), folder / "sacct.txt")

    return read_it


READERS: dict[str, tuple[str, Callable[[], Callable[[Path, str], object]]]] = {
    "manifests": (MANIFEST, lambda: _submission("job.yaml")),
    "scripts": (SCRIPT, lambda: _submission("job.sbatch")),
    "job-csv": (CSV, lambda: _submission("jobs.csv")),
    "sacct": (SACCT, lambda: _trace("sacct", "sacct.txt")),
    "sacct-json": (SACCT_JSON, lambda: _trace("sacct", "sacct.json")),
    "sacct-json-rows": (SACCT_JSON, _rows_of_json),
    "swf": (SWF, lambda: _trace("swf", "log.swf")),
    "csv": (CSV, lambda: _trace("csv", "jobs.csv")),
}


def fuzz(name: str, inputs: int, seed: int) -> dict[str, object]:
    """Feed one reader; return what came of it, with the inputs that it broke at."""
    sound, make = READERS[name]
    read = make()
    answered = refused = 0
    tracebacks: list[str] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(inputs):
            chance = random.Random(f"{name} {seed} {number}")
            text = broken(sound, chance)
            try:
                read(Path(scratch), text)
                answered += 1
            except ProphaseError:
                refused += 1
            except Exception as error:
                if len(tracebacks) < 20:
                    tracebacks.append(f"{number}: {type(error).__name__}: {error} for {text!r}")
                else:
                    tracebacks.append(str(number))
    return {
        "reader": name, "inputs": inputs, "answered": answered, "refused": refused,
        "tracebacks": len(tracebacks), "seconds": round(time.monotonic() - began, 1),
        "examples": tracebacks[:20],
    }  # fmt: skip


#: reader -> file name, lines above the records, a record with a place for its number
RECORDS: dict[str, tuple[str, str, str]] = {
    "sacct": (
        "sacct.txt",
        SACCT.splitlines(keepends=True)[0],
        "{}|train|ann|nlp|gpu|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T01:00:00|"
        "COMPLETED|16G|2000K|4|08:00:00|00:59:00|cpu=4,mem=16G,gres/gpu=1|n1",
    ),
    "sacct-json": ("sacct.json", "", ""),
    "swf": (
        "log.swf",
        "; Version: 2.2\n; UnixStartTime: 1000000\n; MaxNodes: 64\n",
        "{} 0 10 100 4 90 2048 4 200 4096 1 3 1 -1 1 1 -1 -1",
    ),
    "csv": (
        "jobs.csv",
        CSV.splitlines(keepends=True)[0],
        "{},ann,train,0,10,100,completed,16,2",
    ),
}
_TO_A_FILE = 1000
#: before every so many broken records stands a sound one; the first tells what the file is
_SOUND_EVERY = 10


def fuzz_records(name: str, inputs: int, seed: int) -> dict[str, object]:
    """Feed one reader of traces with broken records; return what came of them."""
    from prophase.trace import open_trace

    file, head, record = RECORDS[name]
    tracebacks: list[str] = []
    kept = lost = refused = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        for start in range(0, inputs, _TO_A_FILE):
            chance = random.Random(f"{name} records {seed} {start}")
            numbers = range(start, min(start + _TO_A_FILE, inputs))
            sound = {str(9_000_000 + number) for number in numbers[::_SOUND_EVERY]}
            path = Path(scratch) / file
            if record:
                lines = []
                for number in numbers:
                    if str(9_000_000 + number) in sound:
                        lines.append(record.format(9_000_000 + number))
                    # marks that join lines to one are for whole files: they would hide the others
                    text = broken(record.format(1_000_000 + number), chance)
                    lines.append("".join(one for one in text if one not in '"\n\r\x00\u2028'))
                path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
            else:
                jobs = [{**SACCT_JOB, "job_id": int(one), "db_index": int(one)} for one in sound]
                jobs += [odd({**SACCT_JOB, "job_id": 1_000_000 + n}, chance) for n in numbers]
                path.write_text(json.dumps({"jobs": jobs}), encoding="utf-8")
            try:
                trace = open_trace(path, source=name.partition("-")[0], max_bad=1.0)
                # of several clusters, the name of each stands before its jobs
                found = {str(one).rpartition("/")[2] for one in trace.jobs["job_id"]}
            except ProphaseError:
                refused += 1
            except Exception as error:
                tracebacks.append(f"{start}: {type(error).__name__}: {error}"[:300])
            else:
                kept += len(found)
                lost += len(sound - found)
    return {
        "reader": f"{name} records", "inputs": inputs, "kept": kept, "sound records lost": lost,
        "files refused": refused, "tracebacks": len(tracebacks),
        "seconds": round(time.monotonic() - began, 1), "examples": tracebacks[:20],
    }  # fmt: skip


def main() -> None:
    """Feed all readers, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", type=int, nargs="?", default=100_000)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--reader", choices=READERS, action="append")
    parser.add_argument("--records", action="store_true")
    asked = parser.parse_args()
    failed = False
    for name in asked.reader or READERS:
        if asked.records and name in RECORDS:
            found = fuzz_records(name, asked.inputs, asked.seed)
        else:
            found = fuzz(name, asked.inputs, asked.seed)
        failed |= bool(found["tracebacks"] or found.get("sound records lost"))
        print(json.dumps(found), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
