import dataclasses
import json

import pytest

from lagoon.deploy import check_report
from lagoon.deploy.check_report import CheckReport, Finding, bundle_sha256, checked_settings, require_check
from lagoon.deploy.config import DeployConfig
from lagoon.errors import BadInputError

CONFIG = DeployConfig()
SETTINGS = json.loads(json.dumps(checked_settings(CONFIG)))


@pytest.fixture
def report(stand_bundle):
    return CheckReport(
        command="stand still",
        robot="go2",
        bundle_sha256=bundle_sha256(stand_bundle.folder),
        findings=(Finding("contract", True, "fine"), Finding("run 1", True, "fine", {"seconds": 1.5})),
        timing={"policy_ms": {"p99": 0.4}},
        config=SETTINGS,
        versions=check_report.versions_here(),
        host=check_report.host_here(),
        created=check_report.now_utc(),
    )


def test_a_passed_check_of_this_bundle_here_is_accepted(report, stand_bundle, tmp_path):
    report.save(tmp_path / "deploy_check.json")
    require_check(tmp_path / "deploy_check.json", stand_bundle, CONFIG, "SKILL")
    content = json.loads((tmp_path / "deploy_check.json").read_text())
    assert content["verdict"] == "PASS" and len(content["digest"]) == 64 and content["schema_version"] == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bundle_sha256": "0" * 64}, "another state of the bundle: it was 0000000000000000 and is"),
        ({"versions": {"lagoon": "0.0.1"}}, "another state of the versions: lagoon was 0.0.1 and is"),
        ({"host": {"name": "elsewhere"}}, "another state of the computer"),
        (
            {"config": {**SETTINGS, "controller": {**SETTINGS["controller"], "guards": {"tilt_margin": 0.9}}}},
            "another state of the settings: battery_start was None and is 0.2",
        ),
        (
            {"config": {**SETTINGS, "max_late_ms": 20.0}},
            r"another state of the settings: max_late_ms was 20\.0 and is 5\.0",
        ),
        ({"config": {}}, "another state of the settings"),
        ({"findings": (Finding("loop timing", False, "late"),)}, "ended with FAIL: loop timing. Mend that first"),
    ],
)
def test_a_check_of_something_else_is_refused(report, stand_bundle, tmp_path, changes, words):
    path = tmp_path / "deploy_check.json"
    dataclasses.replace(report, **changes).save(path)
    with pytest.raises(BadInputError, match=words) as caught:
        require_check(path, stand_bundle, CONFIG, "'wave hello'")
    assert str(caught.value).endswith("Run: lagoon deploy check 'wave hello'")


def test_an_edited_or_unreadable_report_is_refused(report, stand_bundle, tmp_path):
    path = tmp_path / "deploy_check.json"
    with pytest.raises(BadInputError, match=r"There is no .*only commanded after a passed check"):
        require_check(path, stand_bundle, CONFIG, "SKILL")
    dataclasses.replace(report, findings=(Finding("run 1", False, "fell"),)).save(path)
    text = path.read_text()
    path.write_text(text.replace('"FAIL"', '"PASS"').replace('"passed": false', '"passed": true'))
    with pytest.raises(BadInputError, match="was changed after it was written"):
        require_check(path, stand_bundle, CONFIG, "SKILL")
    for junk in ("", "[]", '{"schema_version": 2}', '{"schema_version": 1}', "\x00", '{"schema_version": 1, "x": NaN}'):
        path.write_text(junk)
        with pytest.raises(BadInputError):
            require_check(path, stand_bundle, CONFIG, "SKILL")
