import base64
import json
import re

import numpy as np
import pytest

from lagoon.studio.preview_html import make_page
from lagoon.studio.show import ShowText, make_show

NASTY = "wave </script><script>alert(1)</script> <!-- \"double\" 'single' & @@DATA@@ {{x}} \\u003c \u2028 你好 🤖"


@pytest.fixture(scope="module")
def page(human, reference, go2) -> str:
    words = ShowText(NASTY, "FAIL", "fell <b>early</b>", {"<i>name</i>": '"1" & <2>'})
    return make_page(make_show(human, reference, reference, go2), words)


def payload(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found.group(1))


def unpack(packed: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["data"]), "<i2") * packed["scale"] + packed["offset"]


def test_page_loads_nothing(page) -> None:
    assert not re.search(r"https?://|//cdn|@import|\bfetch\(|XMLHttpRequest|WebSocket|<link|<img|<iframe|\ssrc=", page)
    assert "default-src 'none'" in page
    assert len(page) < 1_500_000


def test_words_from_outside_are_escaped(page) -> None:
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert "alert(1)</script>" not in page and "<b>early" not in page and "<i>name" not in page
    assert (
        "wave &lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; &lt;!-- &quot;double&quot; &#x27;single&#x27;"
        in page
    )
    # A marker of the template inside the command stays text.
    assert "@@DATA@@ {{x}}" in page and page.count("@@") == 4
    assert "你好 🤖" in page


def test_segment_names_cannot_end_the_data(reference, go2) -> None:
    import dataclasses

    odd = dataclasses.replace(reference, segment_names=("</script>", "motion", "<!--"))
    page = make_page(make_show(None, odd, None, go2), ShowText())
    assert page.count("</script>") == 2
    assert [name for name, _ in payload(page)["segments"]] == ["</script>", "motion", "<!--"]


def test_embedded_poses_are_those_of_the_motion(page, human, reference, go2) -> None:
    show = make_show(human, reference, reference, go2)
    data = payload(page)
    assert (data["count"], data["fps"]) == (76, 25.0)
    for raw, track in zip(data["tracks"], show.tracks, strict=True):
        assert np.abs(unpack(raw["poses"]["pos"]) - track.poses.pos.ravel()).max() < 2e-4
        assert np.abs(unpack(raw["poses"]["quat"]) - track.poses.quat.ravel()).max() < 1e-4
    # The policy's robot is the reference's: its shapes are stored once.
    assert data["tracks"][2]["figure"] == 1
    assert data["curves"]["contactReference"][0].count("0") > 0
    assert len(data["curves"]["jointError"]) == 76


def test_what_a_fix_changed_stands_beside_what_is(human, reference, go2) -> None:
    show = make_show(human, reference, None, go2)
    fix = {"changed": "80% of the amplitude <b>", "torque": "150.0 % \u2192 90.0 %"}
    page = make_page(show, ShowText("x", demands={"torque": [0.1, 0.9]}, before={"torque": [1.5, 0.5, 1.5]}, fix=fix))
    data = payload(page)
    assert data["before"]["torque"][0] == 1.5
    assert len(data["before"]["torque"]) == data["count"]
    assert "80% of the amplitude &lt;b&gt;" in page
    assert payload(make_page(show, ShowText("x", before={"torque": [1.0, 2.0]})))["before"] == {}


def test_demands_and_reasons_arrive_on_the_shows_clock(human, reference, go2) -> None:
    ramp = list(np.linspace(0.0, 2.0, reference.num_frames))
    words = ShowText("x", demands={"torque": ramp}, reasons=[(0.5, 0.75, "frames 25 to 37: <b>RL</b> too weak")])
    show = make_show(None, reference, None, go2)
    page = make_page(show, words)
    data = payload(page)
    assert len(data["demands"]["torque"]) == data["count"]
    half = data["demands"]["torque"][data["count"] // 2]
    assert half == pytest.approx(1.0, abs=0.03)
    assert data["reasons"] == [[0.5, 0.75, "frames 25 to 37: <b>RL</b> too weak"]]
    assert "<b>RL" not in page.replace("\\u003c", "")
