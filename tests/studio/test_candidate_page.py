import json
import re

import pytest

from lagoon.errors import BadInputError
from lagoon.studio.candidate_page import Entry, write_candidate_page


def test_every_candidate_has_a_figure_a_label_and_its_numbers(tmp_path, human) -> None:
    entries = [Entry(f"{i}. (candidate {i})", f"cost {i}.5", human) for i in range(3)]
    path = write_candidate_page(tmp_path / "candidates.html", "wave </script><b>", entries)
    page = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert [track["label"] for track in data["tracks"]] == [entry.label for entry in entries]
    assert data["count"] == int(human.duration * 20) + 1
    assert "cost 2.5" in page and "3 candidates, best first" in page
    assert "</script><b>" not in page and "&lt;/script&gt;&lt;b&gt;" in page


def test_no_candidates_is_an_error(tmp_path) -> None:
    with pytest.raises(BadInputError, match="no candidates to show"):
        write_candidate_page(tmp_path / "candidates.html", "wave", [])
