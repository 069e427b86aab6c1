"""The plugin for slurmctld is run by every Lua, against a service that answers over HTTP.

What it finds in the table of ready answers is what the service answers, to the letter.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import uvicorn

from prophase.profile.predict.job_model import learn
from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings
from prophase.serve.submit.policy import SubmitPolicy
from prophase.serve.submit.slurm_answers import ANSWERS, slurm_answers
from prophase.serve.tokens import TokenStore
from prophase.sizing.gpu_grants import parts_given
from prophase.sizing.kind_recommendation import Gate
from prophase.sizing.recommender import learn_recommender
from prophase.trace.identity.folding import COUNTED, folded
from prophase.trace.identity.job_identity import with_identity
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS, REQUESTS

SCRIPT = Path(__file__).parent.parent.parent / "deploy" / "slurm" / "job_submit.lua"
POLICY = """
[submit]
mode = "set"
budget_ms = 10000
resources = ["memory", "time"]
[submit.partitions.parts]
resources = ["memory", "gpu"]
mode = "set"
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address of a service that needs a token, and the file with one."""
    rows = np.arange(60)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in rows],
            "group": "nlp",
            "name": "train",
            "submit_s": 700.0 * rows,
            "duration_s": 600.0 + rows % 5,
            "request_memory_gib": 16.0,
            "time_limit_s": 14_400.0,
            "memory_peak_gib": 2.0,
        }
    )
    used = {"request_gpus": 1.0, "gpu_util_mean_pct": 10.0 + rows % 5, "gpu_memory_peak_gib": 8.0}
    infer = jobs.assign(name="infer", job_id="i" + jobs["job_id"], gpu_type="A100", **used)
    jobs = pd.concat([jobs, infer], ignore_index=True)
    nodes = pd.DataFrame({"gpus": [8], "features": ["gres=a100_1g.5gb|gres=a100_2g.10gb"]})
    folder = tmp_path_factory.mktemp("slurm")
    workspace = Workspace.create(folder / "ws")
    workspace.store_frames({"jobs": jobs}, source="csv", source_hash="h", seed=0)
    learn(jobs, method="backoff-median").save(workspace.folder / PREDICTIONS)
    gate = Gate(gpu_parts=parts_given(jobs, nodes))
    learn_recommender(jobs, gate=gate).save(workspace.folder / REQUESTS)
    (workspace.folder / "prophase.toml").write_text(POLICY, encoding="utf-8")
    token = folder / "token"
    token.write_text(TokenStore(workspace.folder).add("slurm", "read") + "\n", encoding="utf-8")
    app = create_app(workspace.folder, ServiceSettings(open=True, port=0))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 120
    while not server.started and time.monotonic() < until:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/v1/submit/slurm", token
    server.should_exit = True
    thread.join(60)


#: every Lua that Slurm may be linked with
LUAS = ("lua5.1", "lua5.2", "lua5.3", "lua5.4")
#: what slurmctld gives to plugins, and what is looked at afterwards
HARNESS = """
local said = {}
local function say(kind) return function(...) said[#said + 1] = kind .. string.format(...) end end
slurm = { SUCCESS = 0, log_user = say("user: "), log_info = say("log: ") }
PROPHASE_URL, PROPHASE_TOKEN, PROPHASE_SECONDS, PROPHASE_REPORT = URL, TOKEN, 60, 0
PROPHASE_TABLE = TABLE
dofile(SCRIPT)
for _, job in ipairs(JOBS) do
   assert(slurm_job_submit(job, { gpu = { flag_default = 1 }, cpu = { flag_default = 0 } }, 1) == 0)
   local memory = job.mem_per_tres or job.pn_min_memory
   if not memory and job.min_mem_per_cpu < 1e9 then memory = job.min_mem_per_cpu end
   local gpus = job.tres_per_node and "\\t" .. job.tres_per_node or ""
   print(tostring(memory), tostring(job.time_limit) .. gpus)
end
for _, line in ipairs(said) do print(line) end
"""
UNSET = 4294967294
JOB = {
    "name": "train", "default_account": "nlp", "min_nodes": 1, "min_mem_per_node": 16 * 1024,
    "time_limit": 240, "num_tasks": UNSET, "min_mem_per_cpu": 18446744073709551616,
}  # fmt: skip


@pytest.fixture(params=LUAS)
def lua(request: pytest.FixtureRequest) -> str:
    found = shutil.which(request.param)
    if found is None:
        pytest.skip(f"{request.param} is not installed (tools/system-packages installs it)")
    return found


def literal(value: Any) -> str:
    if isinstance(value, str):
        return '"' + "".join(f"\\{one:03d}" for one in value.encode()) + '"'
    return repr(float(value)) if isinstance(value, int) else str(value)


def submitted(
    lua: str, url: str, token: Path, *jobs: dict[str, Any], table: Path | None = None
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return memory and time limit of each job after its submission, and what was said."""
    tables = [
        "{" + ",".join(f'["{name}"]={literal(value)}' for name, value in job.items()) + "}"
        for job in jobs
    ]
    values = {"URL": literal(url), "TOKEN": literal(str(token)), "SCRIPT": literal(str(SCRIPT))}
    values["TABLE"] = literal(str(table or "/nowhere/slurm-answers"))
    values["JOBS"] = "{" + ",".join(tables) + "}"
    program = "".join(f"{name} = {value}\n" for name, value in values.items()) + HARNESS
    done = subprocess.run([lua, "-"], input=program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return [tuple(line.split("\t")) for line in lines[: len(jobs)]], lines[len(jobs) :]


def test_a_job_gets_the_part_of_a_gpu_by_the_name_that_the_site_has_for_it(
    lua: str, served: tuple[str, Path]
) -> None:
    job = {**JOB, "name": "infer", "partition": "parts", "tres_per_node": "gres/gpu:a100:1"}
    two, plain = {**job, "tres_per_node": "gres/gpu:2"}, {**job, "partition": "gpu"}
    table = served[1].parent / "ws" / ANSWERS
    until = time.monotonic() + 60
    while not table.exists() and time.monotonic() < until:
        time.sleep(0.05)
    for answers in (None, table):
        found, said = submitted(lua, *served, job, two, plain, table=answers)
        assert [one[2] for one in found] == [
            "gres/gpu:a100_2g.10gb:1",
            "gres/gpu:2",
            "gres/gpu:a100:1",
        ]
        assert any("gres/gpu:a100_2g.10gb:1 instead of 1 GPUs" in line for line in said)
        assert float(found[0][0]) < 4096


def test_a_job_gets_what_the_service_recommends_in_every_lua(
    lua: str, served: tuple[str, Path]
) -> None:
    (first, again), said = submitted(lua, *served, JOB, JOB)
    assert 2048 <= float(first[0]) < 4096
    assert 10 <= float(first[1]) < 240
    assert first == again
    assert "cannot read /nowhere/slurm-answers" in said[0]
    assert "memory 2" in said[1]
    assert "instead of 16 GiB" in said[1]
    assert said[-1] == "log: prophase: since start: set 1, set from memory 1"


def test_every_form_of_memory_is_answered_in_that_form(lua: str, served: tuple[str, Path]) -> None:
    strange = {**JOB, "name": 'tr"ain\n\\ \x01ü'}
    per_cpu = {**JOB, "min_mem_per_node": UNSET, "min_mem_per_cpu": 4096, "cpus_per_task": 4}
    per_gpu = {**JOB, "min_mem_per_node": UNSET, "mem_per_tres": "gres:gpu:8192",
               "tres_per_job": "gres:gpu:2"}  # fmt: skip
    whole = {**JOB, "shared": 0}
    found, _ = submitted(lua, *served, strange, per_cpu, per_gpu, whole)
    # a job of another name is another kind, and keeps its request
    assert found[0][0] == "nil"
    assert 512 <= float(found[1][0]) < 1024
    assert 1024 <= float(found[2][0].removeprefix("gres:gpu:")) < 2048
    assert found[3][0] == "nil"
    assert float(found[3][1]) < 240


def test_what_a_user_wishes_is_done(lua: str, served: tuple[str, Path]) -> None:
    jobs = [
        {**JOB, "comment": "x prophase=off"},
        {**JOB, "script": "#!/bin/sh\n#PROPHASE off\nsrun train\n"},
        {**JOB, "comment": "prophase=tell"},
        {**JOB, "default_account": "bio"},
    ]
    found, said = submitted(lua, *served, *jobs)
    assert [(memory, float(limit)) for memory, limit in found] == [("nil", 240.0)] * 4
    assert sum(line.startswith("user:") for line in said) == 1
    assert "opted out 2" in said[-1]
    assert "told 1" in said[-1]


def test_without_service_or_token_jobs_are_submitted_as_they_are(
    lua: str, served: tuple[str, Path], tmp_path: Path
) -> None:
    for address, token in (("http://127.0.0.1:1/", served[1]), (served[0], tmp_path / "none")):
        found, said = submitted(lua, address, token, JOB, JOB)
        assert [(memory, float(limit)) for memory, limit in found] == [("nil", 240.0)] * 2
        assert sum("no answer from" in line for line in said) == 1, "one question, then a pause"
        assert "away 2" in said[-1]
    (tmp_path / "empty").write_text("", encoding="utf-8")
    found, said = submitted(lua, served[0], tmp_path / "empty", JOB)
    assert float(found[0][1]) == 240.0
    assert any("away" in line for line in said)


#: names and what may stand in them
_PARTS = ("train", "lr", "seed", "resnet", "v", "2024-05-01", "20240501", "1999_12_31",
          "2024/13/01", "T12:30", "T12:30:59Z", "_1230", "12.5", "3e-4", "1E5", "1.5e-3", "0",
          "00", "0017", "123456", "1.2.3", "a1b2c3d4", "DEADBEEF12", "-x7k2p", "-5c9bf7d4b8-x7k2p",
          "123e4567-e89b-12d3-a456-426614174000", "-", "_", ".", ":", ",", " ", "#", "[", "ü", "e",
          "Z", "Epoch", ".5", "2x", "3.e5", "1.23b")  # fmt: skip


def test_the_plugin_folds_names_as_the_recommender_does(lua: str, tmp_path: Path) -> None:
    draw = random.Random(7)
    names = ["".join(draw.choices(_PARTS, k=draw.randint(1, 7))) for _ in range(3000)]
    names += ["".join(draw.choices("0123456789abfXTZ-_.:e #", k=20)) for _ in range(1000)]
    listed = tmp_path / "names"
    listed.write_text("\n".join(names) + "\n", encoding="utf-8")
    inside = SCRIPT.read_text(encoding="utf-8").rpartition("return slurm.SUCCESS")[0]
    program = f"""slurm = {{ SUCCESS = 0 }}
{inside}
head_of("counted\\t{" ".join(COUNTED)}\\n")
for name in io.lines({literal(str(listed))}) do
   print(folded(name) .. "\\t" .. folded(name, true))
end
"""
    done = subprocess.run([lua, "-"], input=program, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{folded(one)}\t{folded(one, 'all')}" for one in names]


#: the job as it was changed, and all that was said
ANSWERED = """
local said
local function say(kind) return function(...) said[#said + 1] = kind .. string.format(...) end end
slurm = { SUCCESS = 0, log_user = say("user: "), log_info = function() end }
PROPHASE_URL, PROPHASE_TOKEN, PROPHASE_TABLE = URL, TOKEN, TABLE
PROPHASE_SECONDS, PROPHASE_PAUSE = 60, 0
dofile(SCRIPT)
for _, job in ipairs(JOBS) do
   said = {}
   local before = {}
   for name, value in pairs(job) do before[name] = value end
   local outcome = prophase_recommend(job, { gpu = { flag_default = 1 } }, 1)
   for name, value in pairs(job) do
      if before[name] ~= value then
         if type(value) == "number" then value = ("%.0f"):format(value) end
         said[#said + 1] = name .. "=" .. value
      end
   end
   table.sort(said)
   print(outcome .. " | " .. table.concat(said, " | "))
end
"""


def answered(
    lua: str, url: str, token: Path, table: Path, jobs: list[dict[str, Any]]
) -> list[tuple[str, str]]:
    """Return of each job what the plugin says it did, and what became of it."""
    tables = [
        "{" + ",".join(f'["{name}"]={literal(value)}' for name, value in job.items()) + "}"
        for job in jobs
    ]
    values = {"URL": url, "TOKEN": str(token), "TABLE": str(table), "SCRIPT": str(SCRIPT)}
    program = "".join(f"{name} = {literal(value)}\n" for name, value in values.items())
    program += "JOBS = {" + ",".join(tables) + "}\n" + ANSWERED
    done = subprocess.run([lua, "-"], input=program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.partition(" | ") for line in done.stdout.splitlines()]
    return [(outcome, rest) for outcome, _, rest in lines]


def site_history() -> pd.DataFrame:
    """Kinds of several users: some ask for too much, some are killed, some are as they should."""
    draw = np.random.default_rng(3)
    rows = np.arange(900)
    kind, user = rows % 6, np.array(["ann", "bob", "cy-x"])[rows // 6 % 3]
    asked = np.array([16.0, 4.0, 8.0, 2.0, 64.0, 1.5])[kind]
    need = np.array([2.0, 3.7, 7.0, 3.0, 900 / 1024, 0.3])[kind] * draw.lognormal(0, 0.04, 900)
    killed = (kind == 3) & (need > asked)
    return pd.DataFrame(
        {
            "job_id": [f"{n}" for n in rows],
            "name": [f"job{'abcdef'[k]}_{n:04d}" for k, n in zip(kind, rows, strict=True)],
            "user": user,
            "group": np.where(user == "bob", "bio", "nlp/2"),
            "queue": "gpu",
            "submit_s": 900.0 * rows,
            "start_s": 900.0 * rows + 5,
            "duration_s": 600.0 * (1 + kind) * draw.lognormal(0, 0.2, 900),
            "status": np.where(killed, "oom", "completed"),
            "request_memory_gib": asked,
            "request_cpu_cores": 1.0,
            "time_limit_s": 14_400.0,
            "memory_peak_gib": np.where(killed, asked, need),
        }
    ).assign(end_s=lambda held: held["start_s"] + held["duration_s"])


def random_job(draw: random.Random) -> dict[str, Any]:
    """Return a job_desc: of a known kind or not, with requests in every form."""
    kind = draw.randrange(7)
    user = draw.choice(["ann", "bob", "cy-x", "new"])
    usual = [16384, 4096, 8192, 2048, 65536, 1536, 1000][kind]
    memory = int(usual * draw.choice([1, 1, 1, 0.6, 1.7, 3]))
    job: dict[str, Any] = {
        "name": draw.choice(["job{}_{:04d}", "job{}-2024-05-01_{:d}", "job{}_{:d}"]).format(
            "abcdefx"[kind], draw.randrange(9999)
        ),
        "user_name": user,
        "default_account": "bio" if user == "bob" else "nlp/2",
        "partition": draw.choice(["gpu", "gpu", "cpu", "night-1"]),
        "min_nodes": 1,
        "num_tasks": draw.choice([UNSET, 1, 4]),
        "cpus_per_task": draw.choice([65534, 1, 2]),
        "time_limit": draw.choice([UNSET, 240, 240, 100, 300, 10]),
        "min_mem_per_node": memory,
        "min_mem_per_cpu": 18446744073709551616,
    }
    form = draw.randrange(10)
    if form in (7, 8):
        each = max(1, memory // draw.choice([1, 4]))
        job |= {"min_mem_per_node": 18446744073709551616, "min_mem_per_cpu": each}
    if form == 9:
        job |= draw.choice([{"shared": 0}, {"min_mem_per_node": 0}, {"comment": "prophase=tell"}])
    return job


MIXED = """[submit]
mode = "set"
budget_ms = 10000
resources = ["time", "memory"]
[submit.partitions."night-*"]
mode = "tell"
[submit.partitions.cpu]
mode = "dry-run"
[submit.users."c?-x"]
resources = ["memory"]
[submit.users.nobody]
mode = "off"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Path]]:
    """Address of a service, a token file, and the table that the service keeps."""
    folder = tmp_path_factory.mktemp("site")
    workspace = Workspace.create(folder / "ws")
    jobs = with_identity(site_history(), by="group,user,name")
    workspace.store_frames({"jobs": jobs}, source="csv", source_hash="h", seed=0)
    learn_recommender(jobs).save(workspace.folder / REQUESTS)
    (workspace.folder / "prophase.toml").write_text(MIXED, encoding="utf-8")
    token = folder / "token"
    token.write_text(TokenStore(workspace.folder).add("slurm", "read") + "\n", encoding="utf-8")
    app = create_app(workspace.folder, ServiceSettings(port=0))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 120
    table = workspace.folder / ANSWERS
    while not (server.started and table.exists()) and time.monotonic() < until:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/v1/submit/slurm", token, table
    server.should_exit = True
    thread.join(60)
    assert not table.exists(), "without a service nobody resizes"


def test_ready_answers_are_those_of_the_service(lua: str, site: tuple[str, Path, Path]) -> None:
    url, token, table = site
    draw = random.Random(lua)
    jobs = [random_job(draw) for _ in range(80)]
    ready = answered(lua, "http://127.0.0.1:1/", token, table, jobs)
    asked = answered(lua, url, token, Path("/nowhere/slurm-answers"), jobs)
    assert [rest for _, rest in ready] == [rest for _, rest in asked]
    said = [outcome.removesuffix(" from table") for outcome, _ in ready]
    assert said == [outcome.removesuffix(" from memory") for outcome, _ in asked]
    assert sum(outcome == "set from table" for outcome, _ in ready) >= 8


def test_a_table_that_nobody_renews_does_not_count(lua: str, tmp_path: Path) -> None:
    requests = learn_recommender(with_identity(site_history(), by="group,user,name"))
    policy = SubmitPolicy.of({"submit": {"mode": "set"}})
    table, job = tmp_path / ANSWERS, {**random_job(random.Random(0)), "user_name": "ann"}
    job |= {"name": "joba_7", "default_account": "nlp/2", "min_mem_per_node": 16384}
    for seconds, outcome in ((100, "set from table"), (-100, "away")):
        table.write_bytes(slurm_answers(requests, policy, int(time.time()) + seconds))
        ((found, _),) = answered(lua, "http://127.0.0.1:1/", tmp_path, table, [job])
        assert found == outcome
    whole = slurm_answers(requests, policy, int(time.time()) + 100)
    for length in (0, 30, 100, len(whole) // 4):
        table.write_bytes(whole[:length])
        ((found, rest),) = answered(lua, "http://127.0.0.1:1/", tmp_path, table, [job])
        assert (found, rest) == ("away", ""), "a damaged table changes nothing"
