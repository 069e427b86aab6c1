from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("kubernetes", reason='needs pip install "prophase[kubernetes]"')
sys.path.append(str(Path(__file__).parents[1]))
from kube_api import KubeApi, running_kube_api
from kubernetes.client import CoreV1Api

from prophase.integrations.kubernetes.watch_stream import WatchedObjects


@pytest.fixture
def api_and_view() -> Iterator[tuple[KubeApi, WatchedObjects]]:
    with running_kube_api() as (api, client):
        add(api, "a")
        add(api, "stranger", app="other")
        view = WatchedObjects(partial(CoreV1Api(client).list_namespaced_pod, "ml"), "app=ours")
        yield api, view
        view.close()


def add(api: KubeApi, name: str, app: str = "ours") -> None:
    container = {"name": "task", "image": "busybox"}
    about = {"name": name, "labels": {"app": app}}
    api.create("pods", {"metadata": about, "spec": {"containers": [container]}})


def names(view: WatchedObjects) -> list[str] | None:
    seen = view.objects()
    return None if seen is None else sorted(one["metadata"]["name"] for one in seen)


def until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def watches(api: KubeApi) -> list[int]:
    return [version for method, _, version in api.log if method == "WATCH"]


def test_a_view_follows_what_is_added_changed_and_deleted_after_one_list(api_and_view):
    api, view = api_and_view
    until(lambda: names(view) == ["a"])
    add(api, "b")
    until(lambda: names(view) == ["a", "b"])
    api.set_status("pods", api.objects["pods"]["b"], {"phase": "Running"})
    until(lambda: {"phase": "Running"} in [one.get("status") for one in view.objects()])
    api.delete("pods", "a", with_pods=False)
    until(lambda: names(view) == ["b"])
    assert view.lists == 1


def test_a_stream_that_ends_is_gone_on_with_from_the_last_version_seen(api_and_view):
    api, view = api_and_view
    until(lambda: names(view) == ["a"])
    add(api, "b")
    until(lambda: names(view) == ["a", "b"])
    api.break_streams()
    until(lambda: len(watches(api)) == 2)
    add(api, "c")
    until(lambda: names(view) == ["a", "b", "c"])
    assert view.lists == 1
    assert watches(api)[1] >= int(api.objects["pods"]["b"]["metadata"]["resourceVersion"])


def test_bookmarks_carry_the_version_on_while_nothing_of_ours_happens(api_and_view):
    api, view = api_and_view
    until(lambda: names(view) == ["a"])
    for number in range(5):
        add(api, f"stranger-{number}", app="other")
    newest = api.version
    until(lambda: int(view._version or 0) == newest)
    api.forget_changes()
    api.break_streams()
    until(lambda: len(watches(api)) == 2)
    add(api, "b")
    until(lambda: names(view) == ["a", "b"])
    # without the bookmark it would have been too old
    assert (view.lists, watches(api)[1]) == (1, newest)


def test_a_version_that_is_too_old_is_answered_with_a_new_list(api_and_view):
    api, view = api_and_view
    until(lambda: names(view) == ["a"])
    with api.changed:
        add(api, "b")
        api.delete("pods", "a", with_pods=False)
        api.forget_changes()
    until(lambda: names(view) == ["b"])
    assert view.lists == 2


def test_a_server_that_fails_is_asked_again_and_until_then_the_view_says_nothing(api_and_view):
    api, view = api_and_view
    until(lambda: names(view) == ["a"])
    api.fail[("GET", "pods")] = [500, 503]
    api.break_streams()
    until(lambda: names(view) is None)
    until(lambda: names(view) == ["a"])
    assert not api.fail[("GET", "pods")]


def test_who_may_not_watch_has_no_view():
    with running_kube_api() as (api, client):
        api.fail[("GET", "pods")] = [403]
        view = WatchedObjects(partial(CoreV1Api(client).list_namespaced_pod, "ml"), "app=ours")
        until(lambda: not view._thread.is_alive())
        assert view.objects() is None
        view.close()
