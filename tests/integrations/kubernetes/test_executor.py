from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

pytest.importorskip("kubernetes", reason='needs pip install "prophase[kubernetes]"')
sys.path.append(str(Path(__file__).parents[1]))
from kube_api import KubeApi, Refused, check_schema, running_kube_api

from prophase.errors import ExecutorError, ParameterError
from prophase.integrations.kubernetes.executor import KubernetesExecutor
from prophase.integrations.kubernetes.manifests import scenario_map, task_job
from prophase.runs._yaml_file import YamlFile
from prophase.runs.executor import Assignment, executor_names
from prophase.runs.pipeline import pipeline_of, read_pipeline

TWO_TASKS = """
name: Two
scenario: [mib]
node_memory: 1GiB
tasks:
  first_task: {command: "true", memory: 256MiB, cpu_cores: 0.5}
  second:
    command: ["{python}", -S, -c, "import sys; bytearray(int(sys.argv[1]) * 2**20)", "{mib}"]
    memory: 64MiB
    after: first_task
    timeout: 90s
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[KubeApi, KubernetesExecutor]]:
    with running_kube_api() as (api, client):
        executor = KubernetesExecutor(tmp_path, api_client=client, namespace="ml")
        yield api, executor
        executor.close()


def assignment(mib: int = 10, text: str = TWO_TASKS) -> Assignment:
    pipeline = pipeline_of(YamlFile(text, "p.yaml"))
    return Assignment(1, "EU, north", {"mib": mib}, date(2024, 1, 1), "f" * 40, pipeline, None)


def started(executor: KubernetesExecutor, job: Assignment) -> Assignment:
    job = replace(job, dag_id=executor.deploy(job))
    return replace(job, run_id=executor.execute(job))


def until_end(executor: KubernetesExecutor, job: Assignment):
    end = time.monotonic() + 120
    while (found := executor.check_execute(job)).progress == "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def test_every_manifest_of_the_example_meets_the_official_schema():
    example = Path(sys.modules["prophase.runs.pipeline"].__file__).parent / "example"
    pipeline = read_pipeline(example / "pipeline.yaml")
    attributes = {"region": "x", "season": "spring", "articles": 3}
    job = Assignment(1, "s", attributes, date(2024, 1, 1), "f" * 40, pipeline, None)
    check_schema(scenario_map(job), "V1ConfigMap")
    for task in pipeline.tasks.values():
        check_schema(task_job(job, task, 1, 0.125, 1.0, "python:3.11"), "V1Job")


def test_the_schema_check_itself_refuses_what_is_wrong():
    job = assignment()
    good = task_job(job, job.pipeline.tasks["second"], 1, 0.0625, 1.0, "i")
    for spoil in (
        lambda m: m["spec"].update(backofLimit=0),
        lambda m: m["spec"].update(backoffLimit="0"),
        lambda m: m["spec"].pop("template"),
        lambda m: m["metadata"]["labels"].update(x="not allowed!"),
    ):
        bad = json.loads(json.dumps(good))
        spoil(bad)
        with pytest.raises(Refused):
            check_schema(bad, "V1Job")


def test_requests_and_limits_are_those_of_the_attempt(cluster):
    api, executor = cluster
    executor.allocate({"first_task": {"memory_gib": 0.4, "cpu_cores": 2}})
    started(executor, assignment())
    (made,) = api.objects["jobs"].values()
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {
        "requests": {"memory": "410Mi", "cpu": "2"},
        "limits": {"memory": "410Mi"},
    }


def test_a_pod_that_is_oomkilled_is_run_again_with_more(cluster):
    _, executor = cluster
    job = started(executor, assignment(mib=100))
    assert until_end(executor, job).progress == "succeeded"
    job = replace(job, profiling_id=executor.profile(job))
    rows = executor.check_profile(job).task_rows
    tried = [(r["task"], r["attempt"], r["status"], r.get("at_least_gib")) for r in rows]
    assert tried == [
        ("first_task", 1, "completed", None),
        ("second", 1, "oom", 0.0625),
        ("second", 2, "completed", None),
    ]
    assert all(row["end_s"] >= row["start_s"] for row in rows)


def test_a_job_that_is_there_already_is_not_started_twice(cluster):
    api, executor = cluster
    api.run_pods = False
    job = started(executor, assignment())
    executor.cluster.listed = lambda kind, selector: []
    executor.execute(job)
    assert len(api.objects["jobs"]) == 1
    assert ("POST", "jobs", 409) in api.log


def test_what_the_server_refuses_is_said_in_its_words_and_a_failed_check_changes_nothing(cluster):
    api, executor = cluster
    api.fail[("POST", "configmaps")] = [403]
    with pytest.raises(ExecutorError, match="The API server says 403: etcdserver"):
        executor.deploy(assignment())
    job = started(executor, assignment())
    api.fail[("GET", "jobs")] = [500] * 20
    with pytest.raises(Exception, match="500"):
        executor.check_execute(job)
    api.fail.clear()
    assert until_end(executor, job).progress == "succeeded"


def test_a_lost_pod_is_replaced_with_the_same_memory_and_a_deadline_fails(cluster):
    api, executor = cluster
    api.run_pods = False
    job = started(executor, assignment())
    (first,) = api.objects["jobs"].values()
    lost = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    wait_for(lambda: api.objects["pods"])
    api.delete("pods", next(iter(api.objects["pods"])), with_pods=False)
    api.set_status("jobs", first, {"failed": 1, "conditions": [lost]})
    wait_for(lambda: executor.check_execute(job) and len(api.objects["jobs"]) == 2)
    first, second = api.objects["jobs"].values()
    assert second["metadata"]["annotations"]["prophase.dev/memory-gib"] == "0.25"
    late = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too late"}
    api.set_status("jobs", second, {"failed": 1, "conditions": [late]})
    wait_for(lambda: executor.check_execute(job).progress == "failed")
    assert (
        "task first_task: DeadlineExceeded: too late. Ask for more time"
        in executor.check_execute(job).reason
    )


def test_stuck_jobs_are_deleted_and_made_again_and_unwanted_ones_are_deleted(cluster):
    api, executor = cluster
    api.run_pods = False
    job = started(executor, assignment())
    assert executor.repair(job) == "deleted 1 Job that had not ended"
    assert api.objects["jobs"] == {}
    wait_for(lambda: executor.check_execute(job) and len(api.objects["jobs"]) == 1)
    assert executor.tidy([job]) == []
    assert "which nobody waits for" in executor.tidy([])[0]


def test_a_failed_pod_without_a_job_is_deleted(cluster):
    api, executor = cluster
    api.run_pods = False
    job = started(executor, assignment())
    wait_for(lambda: api.objects["pods"])
    (name,) = api.objects["jobs"]
    api.delete("jobs", name, with_pods=False)
    (pod,) = api.objects["pods"].values()
    pod["status"] = {"phase": "Failed"}
    assert "which had failed" in executor.tidy([job])[0]


def test_usage_comes_from_cadvisor_through_prometheus(cluster):
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            series = {"metric": {"pod": "p"}, "values": [[0, "0.5"], [15, "0.75"]]}
            data = json.dumps(
                {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    _, executor = cluster
    executor.prometheus = f"http://127.0.0.1:{server.server_port}"
    job = started(executor, assignment())
    assert until_end(executor, job).progress == "succeeded"
    rows = executor.check_profile(replace(job, profiling_id="p")).task_rows
    server.shutdown()
    server.server_close()
    assert (rows[0]["memory_peak_gib"], rows[0]["cpu_mean_cores"]) == (0.75, 0.625)
    assert any("container_memory_working_set_bytes" in path for path in asked)


def test_a_deployment_that_is_gone_or_changed_is_noticed(cluster):
    api, executor = cluster
    job = assignment()
    assert "is not there" in executor.check_deploy(job).reason
    executor.deploy(job)
    assert executor.check_deploy(job).progress == "succeeded"
    (made,) = api.objects["configmaps"].values()
    made["data"]["scenario.yaml"] = "other"
    assert "not what was registered" in executor.check_deploy(job).reason


def test_without_a_cluster_it_says_how_to_name_one(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(ParameterError, match="set KUBECONFIG"):
        KubernetesExecutor(tmp_path).deploy(assignment())


def test_the_executor_is_found_by_name():
    assert "kubernetes" in executor_names()


def wait_for(condition: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
