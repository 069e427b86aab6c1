from __future__ import annotations


def test_the_shortest_of_those_waiting_goes_first(replay):
    jobs = {"duration_s": [9.0, 7.0, 3.0], "submit_s": [0.0, 1.0, 2.0]}
    assert list(replay(jobs=jobs, order="shortest").start_s) == [0.0, 12.0, 9.0]
