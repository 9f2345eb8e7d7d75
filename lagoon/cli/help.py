"""Writes the help texts from the verbs and the dataclasses of their settings.

What enters: verbs. What leaves: plain text, at most as wide as a terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from lagoon import __version__
from lagoon.cli.arguments import COMMON, FLAGS, VALUES
from lagoon.cli.schema import Option, options_of
from lagoon.cli.verb import Verb

_WIDTH = 100
_TEXT = {
    "command": "COMMAND is the first argument, whatever it holds; quote it, and put -- before it if it begins with -.",
    "skill": "SKILL is the command text, the name of a folder in skills_dir, or the path of a skill folder.",
    "skills": "SKILL is the command text, the name of a folder in skills_dir, or the path of a skill folder; several "
    "may follow. Put -- before names that begin with -, or that hold a = and are not the first.",
    "file": "FILE is the path of a file.",
    "robot": "ROBOT is the name of a robot; 'lagoon robot list' shows them.",
    "files": "FILE is a motion file; several make a skill each. Put -- before names that begin with - or hold a =.",
    "address": "ADDRESS is tcp://HOST:PORT, where the training listens.",
    "none": "",
}


def overview(verbs: Sequence[Verb]) -> str:
    """Return what ``lagoon --help`` prints."""
    lines = [
        f"lagoon {__version__}: type a command, get a skill that a real quadruped can run.",
        "",
        "Usage: lagoon VERB [COMMAND or SKILL] [KEY=VALUE ...] [--help]",
        "",
        "Start here:",
        '  lagoon make "wave hello"     all stages, into skills/',
        "  lagoon doctor                what is installed, what is missing, what to type",
        "",
        "Verbs:",
    ]
    width = max(len(verb.name) for verb in verbs)
    lines += [f"  {verb.name:<{width}} {verb.purpose}" for verb in verbs]
    lines += [
        "",
        "lagoon VERB --help tells more. Exit codes: 0 done, 1 a verdict of FAIL (evaluate, deploy, robot check;",
        "doctor: a required part is missing), 2 bad input or a missing part, 3 command refused, 70 a bug in lagoon,",
        "130 stopped by Ctrl-C, 141 the reader of the output has gone. LAGOON_DEBUG=1 shows Python tracebacks.",
    ]
    return "\n".join(lines)


def verb_help(verb: Verb) -> str:
    """Return what ``lagoon VERB --help`` prints."""
    what = {"command": '"COMMAND" ', "files": "FILE... ", "skills": "SKILL... ", "none": ""}.get(
        verb.text, f"{verb.text.upper()} "
    )
    lines = [f"lagoon {verb.name}: {verb.purpose}", "", f"Usage: lagoon {verb.name} {what}[KEY=VALUE ...] [flags]"]
    if _TEXT[verb.text]:
        lines += textwrap.wrap(_TEXT[verb.text], _WIDTH)
    if verb.details:
        lines += ["", *textwrap.wrap(verb.details, _WIDTH)]
    lines += ["", "Examples:"]
    for line, purpose in verb.examples:
        lines += [f"  {line}", f"      {purpose}"]
    options = {option.key: option for option in options_of(verb.config)}
    if verb.main_options:
        lines += ["", "Main settings (name, type, default):"]
        for key in verb.main_options:
            lines += _option_lines(options[key])
    hidden = len(options) - len(verb.main_options)
    if hidden > 0:
        lines.append(f"  ... and {hidden} more: lagoon {verb.name} --cfg")
    if any(key.count(".") > 1 for key in options):
        lines += ["", "Names in the middle may be left out where only one setting fits."]
    lines += ["", "Flags:"]
    lines += [f"  {name:<10} {text}" for name, text in FLAGS.items() if name in flags_of(verb)]
    return "\n".join(lines)


def flags_of(verb: Verb) -> tuple[str, ...]:
    """Names of the flags that a verb takes."""
    if verb.text == "none":
        return ("--help", "--cfg")
    if verb.flags:
        return ("--help", "--cfg", *verb.flags)
    if verb.text == "files":
        return ("--help", "--cfg", "--again", "--caption")
    if verb.text == "command":
        extra = {"generate": ["--show"], "make": ["--fix", "--profile", "--plain", "--each"]}
        mine = [*COMMON, *extra.get(verb.name, [])]
        return tuple(flag for flag in mine if flag not in VALUES or verb.name == "make")
    runs_a_stage = verb.text in ("skill", "skills") and verb.name not in ("play", "convert", "deploy check")
    if verb.name == "retarget":
        return ("--help", "--cfg", "--again", "--fix")
    if verb.name == "train":
        return ("--help", "--cfg", "--again", "--profile", "--plain")
    return ("--help", "--cfg", "--again") if runs_a_stage else ("--help", "--cfg")


def show(value: object) -> str:
    """Write a value as the user would type it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (tuple, list)):
        return "[" + ",".join(show(item) for item in value) + "]"
    return str(value)


def _option_lines(option: Option) -> list[str]:
    head = f"  {option.key}  ({option.kind}, default {show(option.default)})"
    head_lines = textwrap.wrap(head, _WIDTH, subsequent_indent=" " * (len(option.key) + 5), break_long_words=False)
    return [*head_lines, *textwrap.wrap(option.doc, _WIDTH, initial_indent="      ", subsequent_indent="      ")]
