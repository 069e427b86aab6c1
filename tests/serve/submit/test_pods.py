from __future__ import annotations

from typing import Any

from tests.serve.submit import objects

from prophase.serve.submit.pods import PodAttempts


def _pod(uid: str = "j1", **metadata: Any) -> dict[str, Any]:
    return objects.pod(ownerReferences=[objects.owner("Job", uid)], **metadata)


def test_every_pod_beyond_those_a_job_needs_is_a_retry() -> None:
    attempts = PodAttempts()
    pod = _pod(annotations={"prophase.dev/pods": "3"})
    assert [attempts.of(pod, str(n)) for n in range(10)] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]


def test_the_same_request_and_test_runs_count_once_and_not_at_all() -> None:
    attempts = PodAttempts()
    assert attempts.of(_pod(), "a") == 1
    assert attempts.of(_pod(), "a") == 1
    assert attempts.of(_pod(), "b", count=False) == 2
    assert attempts.of(_pod(), "c") == 2
    assert attempts.of(_pod("j2"), "d") == 1


def test_indexed_jobs_are_counted_by_index_and_believed_when_they_say_it() -> None:
    attempts = PodAttempts()
    index = "batch.kubernetes.io/job-completion-index"
    zero, one = (_pod(annotations={index: place}) for place in ("0", "1"))
    assert [attempts.of(zero, "a"), attempts.of(one, "b"), attempts.of(zero, "c")] == [1, 1, 2]
    failures = "batch.kubernetes.io/job-index-failure-count"
    assert attempts.of(_pod(annotations={failures: "2"}), "d") == 3
    told = _pod(labels={"prophase.dev/attempt": "2"})
    assert attempts.of(told, "e") == 2


def test_a_pod_without_an_owner_is_a_first_attempt() -> None:
    assert PodAttempts().of(objects.pod(), "a") == 1


def test_numbers_that_are_none_are_passed_over() -> None:
    assert PodAttempts().of(objects.pod(labels={"prophase.dev/attempt": "many"}), "a") == 1
    assert PodAttempts().of(_pod(annotations={"prophase.dev/pods": "-4"}), "a") == 1
