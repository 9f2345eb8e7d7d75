import pytest
import torch
from torch import nn

from lagoon.engine.params import FlatParameters, MemoryParameterStore


def test_flat_parameters_are_the_networks_own():
    a, b = nn.Linear(3, 2), nn.Linear(2, 1)
    before = a(torch.ones(1, 3)).detach()
    flat = FlatParameters({"a": a, "b": b}, extra=2)
    assert flat.values.shape == (8 + 3,)
    assert flat.reduced.shape == (13,)
    assert flat.slices == {"a": slice(0, 8), "b": slice(8, 11)}
    assert torch.equal(a(torch.ones(1, 3)), before)
    with torch.no_grad():
        flat.values.zero_()
    assert torch.equal(a(torch.ones(1, 3)), torch.zeros(1, 2))


def test_gradients_arrive_in_the_flat_buffer_and_add_up():
    layer = nn.Linear(3, 1)
    flat = FlatParameters({"layer": layer}, extra=1)
    for _ in range(2):
        layer(torch.tensor([[1.0, 2.0, 3.0]])).sum().backward()
    assert flat.gradients.tolist() == [2.0, 4.0, 6.0, 2.0]
    assert flat.extra.tolist() == [0.0]


def test_loading_a_state_dict_keeps_the_views():
    layer, source = nn.Linear(3, 1), nn.Linear(3, 1)
    flat = FlatParameters({"layer": layer})
    layer.load_state_dict(source.state_dict())
    assert torch.equal(flat.values[:3], source.weight.detach().flatten())


def test_store_hands_over_references_and_versions_grow():
    store = MemoryParameterStore()
    assert store.version == -1
    with pytest.raises(LookupError):
        store.get()
    tensor = torch.zeros(3)
    store.push({"w": tensor}, version=4)
    version, tensors = store.get()
    assert version == store.version == 4
    assert tensors["w"].data_ptr() == tensor.data_ptr()
    with pytest.raises(ValueError, match="version 4"):
        store.push({"w": tensor}, version=4)
