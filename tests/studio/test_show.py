import dataclasses

import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.studio.show import human_time, make_show, motion_span


def test_person_moves_only_during_the_motion(human, reference, go2) -> None:
    start, end = motion_span(reference)
    assert (start, end) == (1.0, 2.0)
    time = human_time(np.array([0.0, start, (start + end) / 2, end, 3.0]), reference, human)
    np.testing.assert_allclose(time, [0.0, 0.0, 1.0, 2.0, 2.0])
    # The stretch is half as long as the person's clip, yet both end together.
    assert human.duration == 2.0
    show = make_show(human, reference, None, go2, fps=25.0)
    hand = show.tracks[0].poses.pos[:, show.tracks[0].figure.frames.index("right_wrist"), 2]
    assert np.ptp(hand[:26]) < 1e-9 and np.ptp(hand[50:]) < 1e-9
    assert hand[-1] - hand[0] == pytest.approx(0.3)  # the limb's middle rises by half of 0.6 m


def test_show_has_one_track_for_each_motion_and_one_clock(human, reference, go2) -> None:
    show = make_show(human, reference, reference, go2, fps=25.0)
    assert [track.name for track in show.tracks] == ["human", "reference", "policy"]
    assert {track.poses.count for track in show.tracks} == {show.count} == {76}
    assert show.duration == pytest.approx(reference.duration)
    assert [show.segment_at(t) for t in (0.0, 0.99, 1.0, 2.5)] == ["stand", "stand", "motion", "lead out"]
    assert show.fell_at is None
    assert show.curves.joint_error is not None and show.curves.joint_error.max() == 0.0


def test_ghost_stands_over_the_policy(reference, go2) -> None:
    moved = reference.root_pos_w + np.array([0.4, -0.3, 0.02])
    executed = dataclasses.replace(reference, root_pos_w=moved)
    track = make_show(None, reference, executed, go2).tracks[-1]
    assert track.ghost is not None
    np.testing.assert_allclose(track.ghost.pos[:, 0, :2], track.poses.pos[:, 0, :2])
    np.testing.assert_allclose(track.poses.pos[:, 0, 2] - track.ghost.pos[:, 0, 2], 0.02)


def test_joint_error_is_the_mean_absolute_difference(reference, go2) -> None:
    joints = reference.joint_pos.copy()
    joints[:, 0] += 0.24
    show = make_show(None, reference, dataclasses.replace(reference, joint_pos=joints), go2)
    np.testing.assert_allclose(show.curves.joint_error, 0.24 / 12)


def test_fall_is_found_and_ends_the_error_curve(reference, go2) -> None:
    root = reference.root_pos_w.copy()
    root[100:, 2] = 0.06  # on its belly from 2.0 s on
    show = make_show(None, reference, dataclasses.replace(reference, root_pos_w=root), go2, fps=25.0)
    assert show.fell_at == 2.0
    assert show.curves.joint_error is not None
    finite = np.isfinite(show.curves.joint_error)
    assert finite[:51].all() and not finite[51:].any()


def test_only_a_person_or_nothing(human, go2) -> None:
    show = make_show(human, None, None, go2)
    assert [track.name for track in show.tracks] == ["human"]
    assert show.duration == pytest.approx(human.duration)
    with pytest.raises(BadInputError, match="nothing to show"):
        make_show(None, None, None, go2)


def test_motion_of_another_robot_is_refused(reference, go2) -> None:
    names = tuple(reversed(reference.joint_names))
    with pytest.raises(BadInputError, match="Retarget it again with robot=go2"):
        make_show(None, dataclasses.replace(reference, joint_names=names), None, go2)
