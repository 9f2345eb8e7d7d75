import dataclasses

import pytest

from lagoon.errors import BadInputError
from lagoon.retarget.config import RetargetConfig


def test_an_unknown_morphology_is_refused_with_the_known_ones():
    with pytest.raises(
        BadInputError, match=r"'biped' is not known\. Known: auto, four_legged, handstand, in_turn, upright"
    ):
        RetargetConfig(morphology="biped")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weight_com", -1.0),
        ("leg_extension", 1.2),
        ("passes", 0),
        ("sit_seconds", 0.0),
        ("max_tilt", float("nan")),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(field, value):
    with pytest.raises(BadInputError, match=rf"^RetargetConfig\.{field} is .*; expected "):
        dataclasses.replace(RetargetConfig(), **{field: value})
