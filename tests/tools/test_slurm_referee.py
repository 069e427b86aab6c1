"""The real Slurm that other tests are judged by does what a site's Slurm does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.slurm_referee import RefereeError, SlurmReferee, SlurmSite, why_not

SLURM_LUA = """
function slurm_job_submit(job_desc, part_list, submit_uid)
   job_desc.comment = "seen by " .. _VERSION
   return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   return slurm.SUCCESS
end
return slurm.SUCCESS
"""


def test_jobs_end_as_they_do_on_a_cluster(real_slurm: SlurmReferee) -> None:
    # accounting samples memory once a second, and sees nothing of a job that is shorter
    too_much = "python3 -c 'import time; b = bytearray(300 << 20); time.sleep(2.5)'"
    fine = real_slurm.sbatch("--mem=500M", wrap=too_much, user="ann")
    killed = real_slurm.sbatch("--mem=100M", wrap=too_much, user="bob")
    gpus = real_slurm.sbatch("--gres=gpu:2", wrap="echo $CUDA_VISIBLE_DEVICES", user="ann")
    array = real_slurm.sbatch("--array=1-3", "-n12", wrap="srun hostname", user="bob")
    ended = real_slurm.wait(fine, killed, gpus, array)
    assert ended[fine] == "COMPLETED"
    assert ended[killed] == "OUT_OF_MEMORY"
    assert ended[gpus] == "COMPLETED"
    assert [ended[f"{array}_{place}"] for place in (1, 2, 3)] == ["COMPLETED"] * 3
    told = real_slurm.run("sacct", "-a", "-n", "-P", "-o", "JobID,Account,MaxRSS", "-j", fine)
    rows = {line.split("|")[0]: line.split("|")[1:] for line in told.stdout.splitlines()}
    account, peak = rows[f"{fine}.batch"]
    assert account == "nlp"
    assert 300 << 10 <= int(peak.rstrip("K")) <= 400 << 10
    assert (real_slurm.home("ann") / f"slurm-{gpus}.out").read_text().strip() == "0,1"


def test_slurmrestd_answers_to_a_token_and_to_nothing_else(real_slurm: SlurmReferee) -> None:
    def nodes_for(token: str) -> int:
        said = real_slurm.run(
            "curl", "-s", "-H", "X-SLURM-USER-NAME: ann", "-H", f"X-SLURM-USER-TOKEN: {token}",
            f"{real_slurm.rest_url}/slurm/v0.0.38/nodes",
        )  # fmt: skip
        return len(json.loads(said.stdout)["nodes"])

    assert nodes_for(real_slurm.token("ann")) == 4
    assert nodes_for("none") == 0


def test_sites_of_another_shape_run_beside_each_other(
    real_slurm: SlurmReferee, tmp_path: Path
) -> None:
    script = tmp_path / "job_submit.lua"
    script.write_text(SLURM_LUA)
    site = SlurmSite(
        nodes=1,
        gpus=0,
        conf=("PriorityType=priority/multifactor", "AccountingStorageEnforce=qos"),
        partitions=("PartitionName=short Nodes=n1 Default=YES MaxTime=10 State=UP",),
        accounts={"chem": ("cy",)},
        accounting=("add qos high priority=10", "modify user cy set qos+=high"),
        job_submit=script,
    )
    with SlurmReferee(site) as other:
        job = other.sbatch("--qos=high", wrap="true", user="cy")
        shown = other.run("scontrol", "show", "job", job).stdout
        assert "Comment=seen by Lua" in shown
        assert "Partition=short" in shown
        assert other.wait(job) == {job: "COMPLETED"}
        with pytest.raises(RefereeError, match="ended with 1"):
            other.run("scontrol", "show", "job", "99")
        folder, name = other.folder, other.folder.name
        assert real_slurm.run("sinfo", "-h", "-o", "%P").stdout.strip() == "main*"
        other.stop("slurmctld")
        assert "DOWN" in other.run("scontrol", "ping", check=False).stdout
        other.start("slurmctld")
    assert not folder.exists()
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{name}"))


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.slurm_referee._PROGRAMS", ("slurmctld", "no-such-program"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert "no-such-program" in str(why_not())
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "root" in str(why_not())
