"""The Gymnasium environment: its own checker, the same decisions as a policy, and its rewards."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics

from prophase.errors import ParameterError
from prophase.sim import Cluster, Workload
from prophase.sim.gym import SchedulingEnv
from prophase.sim.stepwise import simulate_steps


def drawn(seed: int, count: int = 25) -> Workload:
    rng = np.random.default_rng(seed)
    jobs = pd.DataFrame({"submit_s": np.sort(rng.uniform(0, 600, count))})
    jobs["duration_s"], jobs["request_gpus"] = (
        rng.exponential(200, count),
        rng.integers(1, 4, count),
    )
    return Workload.from_jobs(jobs.assign(job_id=[f"j{i:02d}" for i in range(count)]))


CLUSTER = Cluster.parse("2x4 A 16c 64g")


def episode(env: SchedulingEnv, choose) -> float:
    env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        _, reward, ended, cut, _ = env.step(choose(env.action_masks()))
        total, over = total + reward, ended or cut
    return total


def test_the_environment_passes_gymnasiums_own_checker():
    check_env(SchedulingEnv(drawn, CLUSTER), skip_render_check=True)


def test_an_agent_that_starts_whatever_fits_first_decides_as_the_policy_does():
    workload = drawn(3)
    env = SchedulingEnv(workload, CLUSTER, slots=25)
    total = episode(env, lambda masks: int(np.argmax(masks)))

    def whatever_fits(state):
        for job in list(state.queue):
            state.start(job)

    theirs = simulate_steps(workload, CLUSTER, whatever_fits)
    ours = env.schedule()
    assert ours.start_s.tolist() == theirs.start_s.tolist()
    assert total == pytest.approx(-ours.wait_s.mean() / 3600)


def test_an_agent_that_never_starts_a_job_is_cut_off():
    env = SchedulingEnv(drawn(3), CLUSTER)
    env.reset(seed=0)
    cut = False
    for _ in range(100):
        _, _, ended, cut, info = env.step(16)
        assert not ended
        if cut:
            break
    assert cut
    assert info["waiting_for_ever"] == 25


def test_copies_side_by_side_tell_their_masks_and_begin_again_when_an_episode_ends():
    copies = SyncVectorEnv([lambda: RecordEpisodeStatistics(SchedulingEnv(drawn, CLUSTER))] * 2)
    observations, _ = copies.reset(seed=1)
    lengths: list[int] = []
    for _ in range(200):
        masks = np.array(copies.call("action_masks"))
        observations, _, _, _, info = copies.step(masks.argmax(axis=1))
        lengths += [int(one) for one in info.get("episode", {}).get("l", []) if one]
    assert masks.shape == (2, 17)
    assert observations.shape == (2, copies.single_observation_space.shape[0])
    assert len(lengths) >= 2
    assert min(lengths) >= 25


def test_episodes_are_drawn_by_the_seed():
    env = SchedulingEnv(drawn, CLUSTER)
    one, again, other = (env.reset(seed=seed)[0] for seed in (5, 5, 6))
    assert one.tolist() == again.tolist() != other.tolist()


def test_actions_and_settings_that_do_not_exist_are_refused():
    with pytest.raises(ParameterError, match="at least one job"):
        SchedulingEnv(drawn, CLUSTER, slots=0)
    env = SchedulingEnv(drawn, CLUSTER, slots=4)
    with pytest.raises(ParameterError, match=r"call reset\(\) first"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(ParameterError, match="action 9 is none of 0 to 4"):
        env.step(9)
    assert "only 1 job in the queue" in env.step(3)[-1]["refused"]
    with pytest.raises(ParameterError, match="pass a Workload"):
        SchedulingEnv(lambda seed: seed, CLUSTER).reset()
    with pytest.raises(ParameterError, match="pass a Cluster"):
        SchedulingEnv(drawn, "4x8")
    with pytest.raises(ParameterError, match="no column guess"):
        SchedulingEnv(drawn, CLUSTER, estimate="guess").reset()
