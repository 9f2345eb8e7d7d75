"""``lagoon deploy replay``: does a bundle compute from a bag's states what was computed when the bag was recorded?"""

from __future__ import annotations

from pathlib import Path

from lagoon.cli.config import DeployReplayVerb
from lagoon.cli.console import Terminal, shown
from lagoon.cli.extras import need
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError


def run(call: Call) -> int:
    """Print one line for each run of the skill; 1 when a target differs or nothing could be compared."""
    need("deploy", "bag")
    from rich.table import Table

    from lagoon import bundle as bundles
    from lagoon.deploy.recording.replay import replay

    bag, screen = Path(call.text).expanduser(), Terminal()
    bundle = bundles.load(_bundle_folder(bag, call.config.bundle))
    found = replay(bag, bundle)
    screen.say(f"{bag}: {shown(bundle.command)!r}, bundle {bundle.folder}/")
    table = Table(header_style="bold")
    for column in ("run", "begins [s]", "ticks compared", "largest difference [rad]", "joint", ""):
        table.add_column(column, justify="left" if column in ("joint", "") else "right")
    for k, one in enumerate(found.runs):
        verdict = "ok" if one.mismatch is None else "FAIL"
        table.add_row(str(k + 1), f"{one.time:.3f}", str(one.ticks), f"{one.largest:.2g}", one.joint, verdict)
    if found.runs:
        screen.console.print(table)
    for k, one in enumerate(found.runs):
        if one.mismatch is not None:
            screen.say(f"Run {k + 1}: {one.mismatch}")
    if found.headless:
        screen.say(f"{found.headless} ticks are of a run that began before the bag does; they cannot be compared.")
    if found.others:
        screen.say(f"{found.others} ticks of other skills were left out; name their bundle with bundle=FOLDER.")
    if not found.runs:
        screen.say("FAIL: the bag holds no run of this skill that could be compared.")
        return 1
    screen.say(f"{'PASS' if found.passed else 'FAIL'}; {found.tolerance:g} rad are allowed.")
    return 0 if found.passed else 1


def _bundle_folder(bag: Path, named: str) -> Path:
    """The bundle to replay with: the one named, or the one in whose skill the bag lies."""
    if named:
        return Path(named).expanduser()
    folder = bag.resolve()
    for parent in folder.parents[:3]:
        if (parent / "bundle" / "bundle.yaml").is_file():
            return parent / "bundle"
    if not bag.exists():
        raise BadInputError(f"There is no bag {bag}. 'lagoon deploy run' writes them into recordings/ of the skill.")
    raise BadInputError(f"No bundle lies beside {bag}. Say which one ran: lagoon deploy replay {bag} bundle=FOLDER")


VERB = Verb(
    name="deploy replay",
    purpose="compute a recorded run again from its states, and compare the policy's targets",
    text="file",
    config=DeployReplayVerb,
    run=run,
    examples=(
        (
            "lagoon deploy replay skills/wave-hello-b84e317c/recordings/BAG",
            "a bag beside its bundle",
        ),
        (
            "lagoon deploy replay BAG bundle=skills/wave-hello-b84e317c/bundle",
            "a bag from elsewhere",
        ),
    ),
    main_options=("bundle",),
    details=(
        "The bundle must be the one that ran, by its sha256. Exit code 0 means that every target is the recorded one "
        "within the bundle's own tolerance. 1 means that one differs, or that nothing could be compared. "
        "docs/deploy.md says what a bag holds."
    ),
)
