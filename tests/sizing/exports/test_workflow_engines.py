"""Exports in the engines themselves: attempts fail, and the next asks for more."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from prophase.sizing.exports import write_for
from prophase.sizing.exports.kind_requests import KindRequests

sys.path.append(str(Path(__file__).parent))
from engines import ASKED, VENV, engine, run

SNAKEFILE = """
rule align:
    output: "done"
    shell: "echo GAVE {resources.mem_mb} {resources.runtime} {threads}; "
        "[ {resources.mem_mb} -ge 300 ] && touch {output}"

rule train:
    output: "trained"
    shell: "echo GAVE {resources.mem_mb} {resources.gpu} {resources.gpu_mem_mb}; touch {output}"
"""
WORKFLOW = """
process align {
    debug true
    errorStrategy 'retry'
    script:
    asked = "${task.memory.toMega()} ${task.cpus} ${task.time.toSeconds()}"
    "echo GAVE ${task.attempt} ${asked} >> SEEN; [ ${task.attempt} -ge 3 ] || exit 137"
}
process train {
    script: "echo GAVE ${task.memory.toMega()} ${task.accelerator.request} >> SEEN"
}
workflow { align(); train() }
"""
#: what the launcher of Nextflow opens for it
OPENED = [
    word
    for name in ("lang", "io", "nio", "net", "util")
    for word in ("--add-opens", f"java.base/java.{name}=ALL-UNNAMED")
] + [
    word
    for name in ("ch", "fs")
    for word in ("--add-opens", f"java.base/sun.nio.{name}=ALL-UNNAMED")
]
RAY = """
import ray
import sizes

ray.init(num_cpus=2, num_gpus=2, _memory=2**35, include_dashboard=False, logging_level="ERROR")


@ray.remote
def held():
    asked = ray.get_runtime_context().get_assigned_resources()
    if asked["memory"] < 4 * 2**30:
        raise ray.exceptions.OutOfMemoryError("killed")
    return asked


print("GAVE", sorted(sizes.run(held, "train").items()))
"""
FLYTE = """
import sizes
from flytekit import task, workflow
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.tools.translator import get_serializable
from collections import OrderedDict


@task(**sizes.overrides("train"))
def train() -> int:
    return 1


@task
def align() -> int:
    return 1


@workflow
def small() -> int:
    align().with_overrides(**sizes.overrides("align", attempt=2))
    return train()


image = ImageConfig(default_image=Image("x", "x", "1"))
settings = SerializationSettings(image_config=image, project="p", domain="d", version="v")
made = get_serializable(OrderedDict(), settings, train)
print("TRAIN", [(one.name, one.value) for one in made.template.container.resources.requests])
node = get_serializable(OrderedDict(), settings, small).template.nodes[0]
asked = node.task_node.overrides.resources
print("ALIGN", [(one.name, one.value) for one in asked.requests], node.metadata.timeout)
print("LIMITS", [(one.name, one.value) for one in asked.limits])
print("RAN", small())
"""
HERA = """
import json, sys
from hera.workflows.models import WorkflowTemplate
import yaml

with open("argo.yaml") as file:
    made = WorkflowTemplate.model_validate(yaml.safe_load(file))
for one in made.spec.templates:
    print(json.dumps([one.name, str(one.retry_strategy.limit.root), one.pod_spec_patch]))
"""


def lines(output: str, first: str = "GAVE") -> list[str]:
    return [line.strip() for line in output.splitlines() if line.strip().startswith(first)]


def driven(to: str, file: str, code: str, folder: Path) -> str:
    """Write the sizes for an engine, run code of it that reads them, and return what it said."""
    python = engine("python")
    (folder / file).write_text(write_for(to, ASKED).text)
    (folder / "drive.py").write_text(code)
    done = run(python, "drive.py", folder=folder)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def test_snakemake_asks_for_more_with_every_attempt(tmp_path: Path) -> None:
    snakemake = engine("snakemake")
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "sizes").mkdir()
    (tmp_path / "sizes" / "config.yaml").write_text(write_for("snakemake", ASKED).text)
    done = run(snakemake, "--profile", "sizes", "--cores", "2", "done", "trained", folder=tmp_path)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-3000:]
    gave = lines(output)
    # MB of 0.1, 0.2 and 0.3 GiB, minutes, threads
    aligned = [line for line in gave if line.endswith(" 1")]
    assert aligned == ["GAVE 108 2 1", "GAVE 215 3 1", "GAVE 323 3 1"]
    assert set(gave) - set(aligned) == {"GAVE 2148 1 8590"}


def test_nextflow_asks_for_more_with_every_attempt(tmp_path: Path) -> None:
    engine("python")
    jars = VENV / "nextflow" / "jars"
    if not jars.exists() or shutil.which("java") is None:
        pytest.skip("no Nextflow; tools/engines-env takes it from Maven Central, with mvn and java")
    seen = tmp_path / "seen"
    (tmp_path / "main.nf").write_text(WORKFLOW.replace("SEEN", str(seen)))
    (tmp_path / "sizes.config").write_text(write_for("nextflow", ASKED).text)
    done = run(
        "java", *OPENED, "-cp", f"{jars}/*", "nextflow.cli.Launcher",
        "-c", "sizes.config", "run", "main.nf",
        folder=tmp_path, NXF_HOME=str(tmp_path / "home"), NXF_OFFLINE="true", NXF_ANSI_LOG="false",
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert sorted(seen.read_text().splitlines()) == [
        "GAVE 1 103 1 90", "GAVE 2 205 2 180", "GAVE 2048 1", "GAVE 3 308 2 180",
    ]  # fmt: skip


def test_ray_asks_for_more_after_an_out_of_memory_kill(tmp_path: Path) -> None:
    said = driven("ray", "sizes.py", RAY, tmp_path)
    gave = lines(said)[0]
    assert "('GPU', 1.0)" in gave
    assert f"('memory', {float(4 * 2**30)})" in gave


def test_flyte_serializes_what_is_asked_for(tmp_path: Path) -> None:
    said = driven("flyte", "sizes.py", FLYTE, tmp_path)
    assert "RAN 1" in said
    assert "'2048Mi'" in lines(said, "TRAIN")[0]
    aligned = lines(said, "ALIGN")[0]
    assert "'205Mi'" in aligned
    assert "'1500m'" in aligned
    assert "0:03:00" in aligned
    assert "'1500m'" in lines(said, "LIMITS")[0]


def test_argo_reads_templates_with_a_retry_and_a_pod_patch(tmp_path: Path) -> None:
    said = driven("argo", "argo.yaml", HERA, tmp_path)
    templates = {name: (limit, patch) for name, limit, patch in map(json.loads, said.splitlines())}
    assert set(templates) == {"align", "train"}
    limit, patch = templates["align"]
    assert limit == "2"
    for retries, memory, cpu, seconds in ((0, "103Mi", "1000m", 90), (2, "308Mi", "1500m", 180)):
        pod = json.loads(evaluated(patch, retries))
        held = pod["containers"][0]["resources"]
        assert held["requests"] == {"memory": memory, "cpu": cpu}
        assert held["limits"] == {"memory": memory, "cpu": "1500m"}
        assert pod["activeDeadlineSeconds"] == seconds


def evaluated(patch: str, retries: int) -> str:
    """Fill in Argo's expressions, which are a list, a condition and numbers."""

    def one(match: re.Match[str]) -> str:
        rungs, condition, yes, no = re.fullmatch(
            r"(\[[0-9, ]+\])\[(.+) \? (.+) : (.+)\]", match[1]
        ).groups()  # type: ignore[union-attr]
        known = {"sprig": type("sprig", (), {"int": int}), "retries": str(retries)}
        place = f"({yes}) if ({condition}) else ({no})"
        return str(eval(f"{rungs}[{place}]", known))  # noqa: S307

    return re.sub(r"\{\{=(.+?)\}\}", one, patch)


def test_sbatch_accepts_the_lines_and_those_of_the_next_attempts(tmp_path: Path) -> None:
    if shutil.which("sbatch") is None:
        pytest.skip("no sbatch; it is in the package slurm-client")
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=localhost\nGresTypes=gpu\nMessageTimeout=1\n"
        "AuthType=auth/none\nNodeName=n Gres=gpu:2\nPartitionName=p Nodes=n Default=YES\n"
    )
    known = {"SLURM_CONF": str(tmp_path / "slurm.conf")}
    text = write_for("slurm", ASKED).text
    options = [
        line.split(maxsplit=1)[1] for line in text.splitlines() if line.startswith("#SBATCH")
    ]
    assert options == [
        "--mem=103M", "--cpus-per-task=1", "--time=0:02:00", "--mem=2048M", "--gres=gpu:1",
    ]  # fmt: skip
    later = [line.split(" sbatch ")[1].split() for line in text.splitlines() if " sbatch " in line]
    assert later[1] == ["--mem=308M", "--cpus-per-task=2", "--time=0:03:00"]
    script = tmp_path / "job.sh"
    for number, asked in enumerate([options[:3], options[3:], *later]):
        held = "".join(f"#SBATCH {option}\n" for option in asked)
        script.write_text(f"#!/bin/sh\n{held}true\n")
        said = run("sbatch", "--test-only", script, folder=tmp_path, **known).stderr
        # the options were read; there is nobody to send them to
        assert "Unable to contact" in said or "allocation failure" in said, (number, said)
    script.write_text("#!/bin/sh\n#SBATCH --mem=2x\ntrue\n")
    assert "Invalid --mem" in run("sbatch", script, folder=tmp_path, **known).stderr


def test_a_name_that_differs_from_run_to_run_is_a_pattern_or_left_out() -> None:
    odd = KindRequests("NF:ALIGN", {"memory_gib": (2.0,)})
    folded = [KindRequests("train_#", {"memory_gib": (2.0,)}), odd, *ASKED]
    assert "withName: 'train_.*'" in write_for("nextflow", folded).text
    made = write_for("snakemake", folded)
    assert "train_" not in made.text.split("retries:")[1]
    assert "NF:ALIGN" not in made.text
    assert "Left out, names that no rule can have (1 kind)." in made.left_out
    assert (
        "Left out, names with numbers that differ: Snakemake has no patterns (1 kind)."
        in made.left_out
    )
