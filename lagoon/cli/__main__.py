"""Entry point of the command ``lagoon``: finds the verb, runs it, turns errors into one paragraph.

What enters: the command line. What leaves: an exit code, see ``lagoon --help``.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import shlex
import sys
import traceback
from collections.abc import Sequence

from lagoon.cli.arguments import split
from lagoon.cli.schema import field_key
from lagoon.cli.verb import INTERRUPTED, Call, Verb
from lagoon.engine.ranks import place
from lagoon.engine.scheduler.jobs import progress_line
from lagoon.errors import BadInputError, LagoonError, install_line

VERBS = (
    "make",
    "generate",
    "import",
    "retarget",
    "train",
    "join",
    "export",
    "evaluate",
    "together",
    "suite",
    "align",
    "preview",
    "convert",
    "play",
    "deploy check",
    "deploy run",
    "deploy replay",
    "deploy inspect",
    "list",
    "robot list",
    "robot check",
    "robot init",
    "doctor",
)
"""A verb of two words lives in the file of the same name with an underscore, as does its file in configs/."""
CORE_MODULES = ("numpy", "scipy", "yaml", "hydra", "omegaconf", "rich")
BUG = 70
UNREAD = 141
"""Exit code when the reader of a pipe has gone, as a shell tells it of programs that SIGPIPE ends."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        arguments: without the program's name; those of the process by default.

    Returns:
        0 done, 1 verdict of failure, 2 bad input, 3 refused command, 70 a bug, 130 interrupted, 141 nobody reads
        the output any more.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    progress_line()  # As one of several, this process must not outlive the one that shows them all.
    if (own := place()) is None:
        return _answered(words)
    from lagoon.engine.torchrun import leading, serve

    if own.rank > 0:
        return serve(own)
    with leading():
        return _answered(words)


def _answered(words: list[str]) -> int:
    """Run a verb, and turn errors into one paragraph and an exit code."""
    try:
        return _run(words)
    except KeyboardInterrupt:
        _complain(f"Stopped. Finished stages and checkpoints are kept; go on with: {shlex.join(['lagoon', *words])}")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Silences the flush at exit.
        return UNREAD
    except LagoonError as error:
        notes = getattr(error, "__notes__", [])
        text = str(error).rstrip(".") + ". " + " ".join(notes) if notes else str(error)
        return _report(text, error.exit_code)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            return _report(
                f"Could not write {error.filename or 'a file'}: {error.strerror}. Earlier stages are kept. Free some "
                "space or choose another folder with skills_dir=PATH, then run the same command again.",
                LagoonError.exit_code,
            )
        if (path := _impossible_path(error)) is not None:
            return _report(path, LagoonError.exit_code)
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in CORE_MODULES:
            return _report(
                f"The package '{error.name}' is not installed, and nothing in lagoon works without it. Install lagoon "
                f"with what it needs: {install_line()}",
                1 if words[:1] == ["doctor"] else LagoonError.exit_code,  # That is doctor's verdict, see there.
            )
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        return _report(
            f"This is a bug in lagoon, not in what you typed: {cause}. See the traceback with LAGOON_DEBUG=1 and "
            "please report it with the command line.",
            BUG,
        )


def _impossible_path(error: Exception) -> str | None:
    """The text for a path that no system can follow; Python 3.11 and 3.12 wrap a loop of links in a RuntimeError."""
    cause = error.__context__ if isinstance(error, RuntimeError) else error
    if not isinstance(cause, OSError) or cause.errno not in (errno.ENAMETOOLONG, errno.ELOOP):
        return None
    from lagoon.cli.console import shown

    name = shown(str(cause.filename or "A path"))
    return f"{name} cannot be followed: {cause.strerror}. Expected the path of a file or folder. Check what you typed."


def load_verb(name: str) -> Verb:
    """Import a verb's file and return its description.

    Raises:
        BadInputError: no such verb; the nearest ones are named.
    """
    if name not in VERBS:
        group = name.split(" ")[0]
        if members := [verb for verb in VERBS if verb.startswith(group + " ")]:
            raise BadInputError(
                f"'lagoon {name}' is not known. There are: {', '.join(members)}. See: lagoon {group} --help"
            )
        near = difflib.get_close_matches(name, VERBS, n=1, cutoff=0.5)
        advice = f"Did you mean 'lagoon {near[0]}'?" if near else f'To make a skill: lagoon make "{name}"'
        raise BadInputError(f"The verb {name!r} is not known. Verbs: {', '.join(VERBS)}. {advice}")
    return importlib.import_module(f"lagoon.cli.{field_key(name).replace(' ', '_')}").VERB


def _run(words: list[str]) -> int:
    from lagoon.cli.help import flags_of, overview, verb_help

    if not words or words[0] in ("--help", "-h", "help"):
        print(overview([load_verb(name) for name in VERBS]))
        return 0
    if words[0] == "--version":
        from lagoon import __version__

        print(f"lagoon {__version__}")
        return 0
    members = [name for name in VERBS if name.startswith(words[0] + " ")]
    if members and (len(words) == 1 or words[1] in ("--help", "-h", "help")):
        print(overview([load_verb(name) for name in members]))
        return 0
    length = 2 if members else 1
    verb = load_verb(" ".join(words[:length]))
    takes_files = verb.text == "files"
    takes_text = verb.text != "none" and not takes_files
    arguments = split(words[length:], verb.name, takes_text, takes_files, flags_of(verb), verb.text == "skills")
    if "--help" in arguments.flags:
        print(verb_help(verb))
        return 0
    for flag in sorted(arguments.flags - set(flags_of(verb))):
        raise BadInputError(
            f"The flag {flag} does nothing in 'lagoon {verb.name}'. Its flags: {', '.join(flags_of(verb))}."
        )
    overrides = [*arguments.overrides, *(["generate.force=true"] if "--force" in arguments.flags else [])]
    from lagoon.cli.compose import compose_config, is_setting

    composed = compose_config(verb.name, verb.config, overrides)
    if "--cfg" in arguments.flags:
        import yaml

        print(yaml.safe_dump(composed.values, sort_keys=False, allow_unicode=True), end="")
        return 0
    text = arguments.text
    if text is None and getattr(composed.config, "motion", None) is not None:
        from lagoon.cli.import_stage import caption_of

        caption = getattr(composed.config, "caption", None)
        text = caption_of(composed.config.motion) if caption is None else caption
    if verb.text == "files" and not arguments.files:
        raise BadInputError(f"The motion file is missing. Name it: lagoon {verb.name} walk.bvh")
    if verb.text not in ("files", "none") and not (text or "").strip():
        raise _no_text(verb, text is None)
    again = "--again" in arguments.flags
    given, line = composed.given, ("lagoon", *words)
    files, flags, more, typed = arguments.files, arguments.flags, arguments.more, composed.typed
    call = Call(text or "", composed.config, given, again, files, line, flags, more, typed)
    try:
        return verb.run(call)
    except LagoonError as error:
        if is_setting(call.text, verb.config):
            kind = verb.text.removesuffix("s")
            example = "wave hello" if kind == "command" else kind.upper()
            line = shlex.join(["lagoon", *words[:length], example, *words[length:]])
            taken = f"{call.text!r} was taken for it, since it came first"
            error.add_note(f"The {kind} seems to be missing: {taken}. Type: {line}")
        raise


def _no_text(verb: Verb, absent: bool) -> BadInputError:
    fact = "is missing" if absent else "is empty"
    if verb.text == "command":
        return BadInputError(f'The command {fact}. Say what to do, in words: lagoon {verb.name} "wave hello"')
    if verb.text not in ("skill", "skills"):
        what = "name of the robot" if verb.text == "robot" else verb.text
        return BadInputError(f"The {what} {fact}. For example: {verb.examples[0][0]}")
    return BadInputError(
        f'The skill {fact}. Name it by its command, folder name or path: lagoon {verb.name} "wave hello". '
        "'lagoon list' shows the skills there are."
    )


def _report(text: str, code: int) -> int:
    if os.environ.get("LAGOON_DEBUG", "") not in ("", "0"):
        traceback.print_exc()
    _complain(f"Error: {text}")
    return code


def _complain(text: str) -> None:
    """Print to standard error without control characters; the text may quote what was typed."""
    print("".join(c if c.isprintable() else "�" for c in text), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
