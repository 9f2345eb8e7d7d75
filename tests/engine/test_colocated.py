import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from point_mass import PointMass, make_point_mass

from lagoon.engine.checkpoint import checkpoint_paths, load_checkpoint
from lagoon.engine.colocated import run, worker_count
from lagoon.engine.config import PPOConfig
from lagoon.engine.processes import available_cores
from lagoon.engine.schedule import noise_std
from lagoon.engine.session import load_policy
from lagoon.errors import BadInputError, StageFailedError
from tests.engine.waiting import group_is_gone, wait_for

SMALL = PPOConfig(
    num_envs=64, horizon=16, hidden=(32, 32), gamma=0.95, total_steps=4 * 1024, workers=1, tensorboard=False
)


def changed(config, **changes):
    from dataclasses import replace

    return replace(config, **changes)


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_deterministic_policy_solves_the_task(tmp_path, seed):
    config = changed(SMALL, total_steps=30 * 1024, std_hold=0.2)
    policy = load_policy(load_checkpoint(run(make_point_mass, config, tmp_path, seed)))
    env = PointMass(256, seed=99)
    obs = env.reset()
    env.age.zero_()
    obs = env._obs()
    untrained = PointMass(256, seed=99)
    untrained.reset()
    untrained.age.zero_()
    for _ in range(39):
        with torch.no_grad():
            result = env.step(policy.act(obs["actor"], 0.1, None)[0])
        assert not result.terminated.any()
        obs = result.obs
        untrained.step(torch.zeros(256, 1))
    assert env.x.abs().quantile(0.95) < 0.1
    assert env.v.abs().quantile(0.95) < 0.15
    assert untrained.x.abs().median() > 0.3  # The task does not solve itself.


def test_two_runs_with_one_seed_are_equal_to_the_bit_and_seeds_differ(tmp_path):
    checkpoints = [
        load_checkpoint(run(make_point_mass, SMALL, tmp_path / name, seed))
        for name, seed in [("a", 5), ("b", 5), ("c", 6)]
    ]
    first, second, other = checkpoints
    assert first.tensors.keys() == second.tensors.keys()
    assert all(torch.equal(first.tensors[name], second.tensors[name]) for name in first.tensors)
    assert not torch.equal(first.tensors["policy/actor.0.weight"], other.tensors["policy/actor.0.weight"])


def test_what_a_run_leaves_behind(tmp_path):
    told, seen = [], []

    class Hook:
        def on_iteration(self, info, policy):
            seen.append((info.iteration, info.steps, info.version, policy.action_dim))
            return False

    path = run(
        make_point_mass, SMALL, tmp_path, 0, Hook(), lambda fraction, message="": told.append((fraction, message))
    )
    facts = load_checkpoint(path).facts
    assert path == tmp_path / "checkpoints" / "step_000000004096.json"
    assert (facts["iteration"], facts["version"], facts["step"], facts["finished"]) == (4, 4, 4096, True)
    assert seen == [(i, i * 1024, i, 1) for i in (1, 2, 3, 4)]
    assert [fraction for fraction, _ in told] == [0.25, 0.5, 0.75, 1.0]
    assert "4,096 steps" in told[-1][1]
    rows = metrics(tmp_path)
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4]
    shares = {name: share for name, share in rows[-1].items() if name.startswith("time/")}
    assert set(shares) == {f"time/{name}" for name in ("env", "inference", "update", "hooks", "other")}
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-3)
    assert min(shares.values()) > 0
    assert rows[-1]["speed/samples_per_cpu_second"] > 0
    assert rows[-1]["train/staleness"] == 0
    assert rows[0]["train/std"] == pytest.approx(SMALL.std_start, rel=1e-4)
    assert "env/falls" in rows[0]


def test_a_finished_run_is_not_run_again(tmp_path):
    path = run(make_point_mass, SMALL, tmp_path)
    assert run(lambda *_: pytest.fail("It must not even make an environment."), SMALL, tmp_path) == path


def test_a_larger_budget_goes_on_with_a_finished_run(tmp_path):
    run(make_point_mass, SMALL, tmp_path)
    facts = load_checkpoint(run(make_point_mass, changed(SMALL, total_steps=6 * 1024), tmp_path)).facts
    assert (facts["iteration"], facts["step"], facts["finished"]) == (6, 6 * 1024, True)
    assert [row["iteration"] for row in metrics(tmp_path)] == [1, 2, 3, 4, 5, 6]


def test_a_hook_stops_the_run(tmp_path):
    class Hook:
        def on_iteration(self, info, policy):
            return info.iteration == 2

    facts = load_checkpoint(run(make_point_mass, SMALL, tmp_path, 0, Hook())).facts
    assert (facts["iteration"], facts["finished"]) == (2, True)


class InterruptAt:
    """Sends Ctrl-C to its own process after an iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def on_iteration(self, info, policy):
        if info.iteration == self.iteration:
            os.kill(os.getpid(), signal.SIGINT)
        return False


def interrupt(folder, iteration=2, config=SMALL):
    with pytest.raises(KeyboardInterrupt):
        run(make_point_mass, config, folder, 0, InterruptAt(iteration))
    return load_checkpoint(checkpoint_paths(folder / "checkpoints")[-1])


def test_resume_goes_on_where_it_stopped(tmp_path):
    envs = []

    def make(rank, num_envs, seed):
        envs.append(PointMass(num_envs, seed))
        return envs[-1]

    saved = interrupt(tmp_path)
    assert (saved.facts["iteration"], saved.facts["version"], saved.facts["finished"]) == (2, 2, False)
    versions = []

    class Watch:
        def on_iteration(self, info, policy):
            versions.append((info.iteration, info.version, info.steps))
            return False

    path = run(make, SMALL, tmp_path, 0, Watch())
    assert versions == [(3, 3, 3072), (4, 4, 4096)]
    assert [row["iteration"] for row in metrics(tmp_path)] == [1, 2, 3, 4]
    assert load_checkpoint(path).facts["finished"]
    assert load_checkpoint(path).tensors["algorithm/step"] == 4 * 20
    assert envs[0].closed


def test_resumed_state_is_the_saved_state(tmp_path):
    from lagoon.engine.group import Solo
    from lagoon.engine.session import Session

    saved = interrupt(tmp_path)
    session = Session(make_point_mass, SMALL, 0, Solo(), saved)
    tensors, facts = session.checkpoint([session.state()])
    # The environment's generator has moved on: a resumed run starts its episodes afresh.
    same = [name for name in saved.tensors if name != "ranks/0/env/generator"]
    assert all(torch.equal(tensors[name], saved.tensors[name]) for name in same)
    assert all(facts[name] == saved.facts[name] for name in ("iteration", "version", "algorithm", "policy"))


def test_resuming_twice_gives_equal_bits(tmp_path):
    import shutil

    interrupt(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    first, second = (load_checkpoint(run(make_point_mass, SMALL, tmp_path / name)) for name in "ab")
    assert all(torch.equal(first.tensors[name], second.tensors[name]) for name in first.tensors)


def test_a_folder_of_another_network_is_refused(tmp_path):
    interrupt(tmp_path)
    with pytest.raises(BadInputError, match=r"hidden = \[32, 32\]; this run has hidden = \[8\]"):
        run(make_point_mass, changed(SMALL, hidden=(8,)), tmp_path)


def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, caplog):
    config = changed(SMALL, checkpoint_seconds=0.0)
    saved = interrupt(tmp_path, iteration=3, config=config)
    saved.path.with_suffix(".safetensors").write_bytes(b"damaged")
    path = run(make_point_mass, config, tmp_path)
    assert "Going on from the checkpoint before it" in caplog.text
    assert load_checkpoint(path).facts["iteration"] == 4
    assert [row["iteration"] for row in metrics(tmp_path)] == [1, 2, 3, 4]


class Poisoned(PointMass):
    """Gives a reward that is not a number."""

    def step(self, action):
        result = super().step(action)
        result.reward[0] = float("nan")
        return result


def test_divergence_is_a_failure_with_advice(tmp_path):
    with pytest.raises(StageFailedError, match=r"diverged at 1,024 steps.*check_vec_env"):
        run(lambda rank, n, seed: Poisoned(n, seed), SMALL, tmp_path)
    assert not checkpoint_paths(tmp_path / "checkpoints")


def test_minutes_end_a_run_and_finish_its_schedule(tmp_path):
    path = run(make_point_mass, changed(SMALL, total_steps=10**9, minutes=0.01), tmp_path)
    facts = load_checkpoint(path).facts
    assert facts["finished"]
    assert facts["fraction"] == 1.0
    assert facts["elapsed"] >= 0.6
    for row in metrics(tmp_path):
        expected = noise_std(row["progress/fraction"], SMALL)
        assert row["train/std"] == pytest.approx(expected, rel=1e-3)
    assert facts["step"] < 10**9


def test_worker_count():
    assert worker_count(changed(SMALL, workers=4)) == 4
    assert 1 <= worker_count(changed(SMALL, workers=0, num_envs=7, minibatches=1)) <= 7
    with pytest.raises(BadInputError, match=r"5, which does not divide .* = 64.*num_envs=65"):
        worker_count(changed(SMALL, workers=5))


def start_forever(folder, workers):
    here = Path(__file__).parent
    program = subprocess.Popen(
        [sys.executable, str(here / "run_forever.py"), str(folder), str(workers)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    path = folder / "metrics.jsonl"
    wait_for(lambda: program.poll() is not None or (path.exists() and path.read_text().count("\n") >= 3), 120)
    assert program.poll() is None, program.communicate()[1]
    return program


@pytest.mark.skipif(sys.platform != "linux", reason="Process groups and parent-death signals as Linux has them.")
def test_two_workers_end_on_ctrl_c_with_a_checkpoint_and_without_orphans(tmp_path, caplog):
    program = start_forever(tmp_path, workers=2)
    start = time.monotonic()
    os.killpg(program.pid, signal.SIGINT)  # A terminal sends it to every process of the group.
    _, errors = program.communicate(timeout=60)
    # Five seconds are the promise on a machine that is not overloaded; a queue for the processor is not our delay.
    assert time.monotonic() - start < 5 * max(1.0, os.getloadavg()[0] / len(available_cores()))
    assert errors.strip().endswith("KeyboardInterrupt")
    wait_for(lambda: group_is_gone(program), 20)
    facts = load_checkpoint(checkpoint_paths(tmp_path / "checkpoints")[-1]).facts
    assert facts["iteration"] == len(metrics(tmp_path)) == facts["version"]
    assert len(facts["ranks"]) == 2
    assert not facts["finished"]

    config = PPOConfig(**{**facts["config"], "workers": 1, "total_steps": facts["step"] + 2 * 512})
    resumed = load_checkpoint(run(make_point_mass, config, tmp_path)).facts
    assert resumed["iteration"] == facts["iteration"] + 2
    assert "made by 2 workers and this run has 1" in caplog.text


@pytest.mark.skipif(sys.platform != "linux", reason="Parent-death signals as Linux has them.")
def test_a_killed_leader_leaves_no_worker_and_no_shared_memory_behind(tmp_path):
    before = set(Path("/dev/shm").glob("*-lanes"))
    program = start_forever(tmp_path, workers=2)
    program.kill()
    program.communicate(timeout=60)
    wait_for(lambda: group_is_gone(program), 20)
    assert set(Path("/dev/shm").glob("*-lanes")) <= before


def test_two_workers_twice_are_equal_to_the_bit(tmp_path):
    config = changed(SMALL, workers=2, total_steps=2048)
    first, second = (load_checkpoint(run(make_point_mass, config, tmp_path / name, 3)) for name in "ab")
    assert first.facts["iteration"] == 2
    assert all(torch.equal(first.tensors[name], second.tensors[name]) for name in first.tensors)
    generators = [first.tensors[f"ranks/{rank}/noise"] for rank in (0, 1)]
    assert not torch.equal(*generators)
