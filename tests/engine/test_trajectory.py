import pytest
import torch

from lagoon.engine.trajectory import Field, Trajectory, TrajectorySchema, ppo_schema

SCHEMA = ppo_schema(horizon=3, batch=5, obs_dims={"actor": 7, "critic": 4}, action_dim=2)


def test_shapes_and_types():
    slot = Trajectory(SCHEMA)
    assert slot["actor"].shape == (3, 5, 7)
    assert slot["last_critic"].shape == (5, 4)
    assert slot["version"].shape == (3, 5)
    assert slot["version"].dtype == torch.int64
    assert slot["truncated"].dtype == torch.bool
    assert slot.samples == 15


def test_fields_do_not_overlap():
    slot = Trajectory(SCHEMA)
    for number, name in enumerate(SCHEMA.fields):
        slot[name].fill_(1 if slot[name].dtype == torch.bool else number)
    for number, name in enumerate(SCHEMA.fields):
        assert (slot[name] == (1 if slot[name].dtype == torch.bool else number)).all(), name


def test_flat_is_a_view_with_time_outermost():
    slot = Trajectory(SCHEMA)
    slot["action"][1, 2] = 9.0
    assert slot.flat("action")[1 * 5 + 2].tolist() == [9.0, 9.0]
    assert slot.flat("action").data_ptr() == slot["action"].data_ptr()


def test_a_slot_lies_in_given_memory():
    size = SCHEMA.offsets()[1]
    memory = torch.zeros(size, dtype=torch.uint8)
    first, second = Trajectory(SCHEMA, memory), Trajectory(SCHEMA, memory)
    first["reward"].fill_(3.0)
    assert (second["reward"] == 3.0).all()
    with pytest.raises(ValueError, match="needs"):
        Trajectory(SCHEMA, memory[1:])


def test_offsets_are_aligned_and_in_order():
    schema = TrajectorySchema(1, 3, {"a": Field((), torch.bool), "b": Field((5,)), "c": Field((), per_step=False)})
    offsets, size = schema.offsets()
    assert offsets == {"a": 0, "b": 64, "c": 128}
    assert size == 192
