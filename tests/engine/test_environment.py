import dataclasses

import pytest
import torch
from point_mass import PointMass

from lagoon.engine.environment import check_vec_env
from lagoon.errors import BadInputError


def test_a_good_environment_passes():
    check_vec_env(PointMass(8, seed=0), steps=90)


class Broken(PointMass):
    """A point mass whose results are changed by a function."""

    def __init__(self, change):
        super().__init__(8, seed=0)
        self.change = change

    def step(self, action):
        return self.change(super().step(action), action)


def final_is_the_next_episode(result, action):
    return dataclasses.replace(result, final_obs={k: v[result.done_ids].clone() for k, v in result.obs.items()})


def nan_reward(result, action):
    result.reward[0] = float("nan")
    return result


def changes_the_action(result, action):
    action.clamp_(-0.1, 0.1)
    return result


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda r, a: dataclasses.replace(r, reward=r.reward.double()), "dtype torch.float64; expected torch.float32"),
        (lambda r, a: dataclasses.replace(r, reward=r.reward[:, None]), "shape (8, 1); expected (8,)"),
        (lambda r, a: dataclasses.replace(r, truncated=r.truncated.int()), "truncated has dtype torch.int32"),
        (lambda r, a: dataclasses.replace(r, done_ids=r.done_ids[:0]), "done_ids has shape (0,)"),
        (lambda r, a: dataclasses.replace(r, obs={"actor": r.obs["actor"]}), "obs has ['actor']"),
        (lambda r, a: dataclasses.replace(r, metrics={"falls": "many"}), "metrics['falls'] is 'many'"),
        (final_is_the_next_episode, "equals obs after the reset"),
        (nan_reward, "1 values that are not finite"),
        (changes_the_action, "changed the action tensor"),
    ],
)
def test_broken_promises_are_named(change, expected):
    with pytest.raises(BadInputError) as error:
        check_vec_env(Broken(change), steps=90)
    assert expected in str(error.value)
    assert str(error.value).startswith("Broken: ")


def test_wrong_observation_sizes_are_named():
    env = PointMass(8, seed=0)
    env.obs_dims = {"actor": 2, "critic": 4}
    with pytest.raises(BadInputError, match=r"reset\(\)\['critic'\] has shape \(8, 3\); expected \(8, 4\)"):
        check_vec_env(env)


def test_done_ids_of_other_environments_are_named():
    def shifted(result, action):
        return dataclasses.replace(result, done_ids=(result.done_ids + 1) % 8)

    with pytest.raises(BadInputError, match="expected the environments with terminated or truncated set"):
        check_vec_env(Broken(shifted), steps=90)


def test_the_check_uses_only_its_own_generator():
    before = torch.random.get_rng_state()
    check_vec_env(PointMass(4, seed=0), steps=3)
    assert torch.equal(before, torch.random.get_rng_state())
