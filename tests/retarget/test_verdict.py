import json

import numpy as np
import pytest

from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.retarget import retarget
from lagoon.retarget.verdict import HARD, NOT_TRACKABLE, TRACKABLE, Series, judge

FPS = 50.0


def _series(key: str, value: float, start: int, stop: int, frames: int = 100, where: str = "") -> dict[str, Series]:
    values = np.zeros(frames)
    values[start:stop] = value
    return {key: Series(values, [where] * frames)}


def test_nothing_in_the_way_is_trackable():
    verdict = judge(_series("torque", 0.9, 0, 100), FPS)
    assert (verdict.grade, verdict.reasons, verdict.lines()) == (TRACKABLE, (), ["trackable"])


def test_a_reason_names_frames_times_and_the_joint():
    verdict = judge(_series("torque", 3.1, 40, 63, where="RL_calf_joint"), FPS)
    assert verdict.grade == NOT_TRACKABLE
    [reason] = verdict.reasons
    assert (reason.start, reason.stop, reason.value) == (40, 62, 3.1)
    assert reason.text == ("frames 40 to 62 (0.80 to 1.24 s): RL_calf_joint would have to deliver 3.1 times its torque")
    assert "retarget.speed" in verdict.lines()[0]


@pytest.mark.parametrize(("value", "grade"), [(0.99, TRACKABLE), (1.0, HARD), (1.99, HARD), (2.0, NOT_TRACKABLE)])
def test_grades_begin_where_the_limits_say(value, grade):
    assert judge(_series("torque", value, 10, 30), FPS).grade == grade


def test_a_single_frame_does_not_count_and_a_short_gap_does_not_divide():
    assert judge(_series("torque", 9.0, 10, 11), FPS).grade == TRACKABLE
    values = np.zeros(100)
    values[10:20] = values[21:30] = 1.5
    assert len(judge({"torque": Series(values)}, FPS).reasons) == 1


def test_a_peak_frame_within_a_hard_stretch_is_not_hopeless():
    series = _series("torque", 1.2, 10, 40)
    series["torque"].values[20] = 5.0
    verdict = judge(series, FPS)
    assert verdict.grade == HARD and verdict.reasons[0].value == 5.0


def test_the_worst_comes_first_and_the_rest_is_counted():
    series = _series("torque", 1.2, 0, 10) | _series("depth", 0.06, 50, 60, where="FL")
    verdict = judge(series, FPS)
    assert verdict.grade == NOT_TRACKABLE and "FL is 6 cm below the floor" in verdict.lines()[0]
    many = Series(np.tile([2.5] * 10 + [0.0] * 10, 10))
    assert verdict.lines(most=1)[-1] == "... and 1 more in retarget.json"
    assert judge({"torque": many}, FPS).lines()[-1].startswith("... and 5 more")


def test_a_wave_is_trackable_and_its_report_is_json(go2, people):
    _, report = retarget(people["waving"](), go2, RetargetConfig())
    assert report.verdict.grade == TRACKABLE, report.verdict.lines()
    assert report.speed == 1.0
    assert report.lines()[-1].endswith("trackable")
    back = json.loads(json.dumps(report.to_dict()))
    assert back["verdict"] == {"grade": "trackable", "reasons": []}
    assert 0.1 < report.torque_use_max < 1.0


def test_speed_stretches_the_clip_and_only_the_clip(go2, people):
    usual, report = retarget(people["waving"](), go2, RetargetConfig(speed=1.0))
    slow, slow_report = retarget(people["waving"](), go2, RetargetConfig(speed=0.5))
    assert slow_report.speed == 0.5
    clip = lambda r: r.segments["lead_out"] - r.segments["motion"]  # noqa: E731
    assert clip(slow_report) == pytest.approx(2 * clip(report), abs=0.05)
    assert slow.duration - usual.duration == pytest.approx(clip(report), abs=0.1)


def test_somebody_who_lies_down_is_told_of(go2, people):
    crawl = people["crawling"]()
    low = crawl.joint_pos_w.copy()
    low[:, :, 2] *= 0.3
    _, report = retarget(type(crawl)(crawl.fps, crawl.joint_names, low), go2, RetargetConfig(speed=1.0))
    assert "off_feet" in [reason.kind for reason in report.verdict.reasons]
