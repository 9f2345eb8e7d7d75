"""The model card: what the weights were made from, what they can do, what they cannot.

What enters: details of a training run and of an evaluation. What leaves: Markdown. Every number in it
comes from one of the two.
"""

from __future__ import annotations

ATTRIBUTIONS = {
    "CMU": (
        "The data used in this project was obtained from mocap.cs.cmu.edu. The database was created with funding "
        "from NSF EIA-0196217."
    ),
    "DeepMimic": "DeepMimic motion clips by Xue Bin Peng, MIT licence.",
    "KayKit": "KayKit character animations by Kay Lousberg (kaylousberg.com), CC0 1.0.",
    "Quaternius": "Quaternius animated characters (quaternius.com), CC0 1.0.",
    "mesh2motion": "Mesh2Motion, MIT licence.",
    "holosoma": "holosoma demo data, Apache-2.0.",
    "Jump": "Conversions of CMU clips by arpspoof/Jump, chaneyddtt/conv-seq2seq, papagina/acLSTM: MIT licence.",
    "IsaacGymEnvs": "Conversions of CMU clips in IsaacGymEnvs: BSD-3-Clause licence.",
    "MiniLM": "Sentence encoder: sentence-transformers/all-MiniLM-L6-v2, Apache-2.0; not part of these weights.",
}


def model_card(details: dict, evaluation: dict) -> str:
    """Write the card.

    Args:
        details: what train.py puts into model.yaml.
        evaluation: what evaluate.py returns; empty if it has not been run.
    """
    metrics, clips, config = details["metrics"], details["clips"], details["config"]
    restricted = "restricted" in details["sets"]
    lines = [
        "# Text to motion: residual motion tokens and a small transformer",
        "",
        "Words in, 22 joint positions at 20 fps out (SMPL joint names, Z-up, metres). Made by "
        "`lagoon.text2motion.train`; sizes, seed and settings are in `model.yaml`.",
        "",
        "## Licence",
        "",
        (
            "**Non-commercial and share-alike: some training clips carry those clauses.** Not the default model."
            if restricted
            else "The weights are released under the project's licence, Apache-2.0. No training clip carries a "
            "non-commercial or share-alike clause."
        ),
        "",
        "## Data",
        "",
        f"Sets {', '.join(details['sets'])}: {clips['read']} clips read, {clips['kept']} kept after the quality "
        f"filter and the cap on windows of one recording, {clips['trained_on']} ({details['minutes']} minutes) "
        f"trained on, {clips['held_out']} held out by recording. With mirrored, reversed, slowed, quickened, counted, "
        f"joined and laid-over variants: {details['examples']} examples. Clips of the source 'authored' were written "
        "by hand, not captured.",
        "",
        "| licence | clips |",
        "|---|---|",
        *(f"| {name} | {count} |" for name, count in details["licenses"].items()),
        "",
        "Attributions:",
        "",
        *(f"- {text}" for text in ATTRIBUTIONS.values()),
        "",
        "## Training",
        "",
        "    python -m lagoon.text2motion.train data=FOLDER out=FOLDER "
        + " ".join(f"{key}={config[key]}" for key in ("seed", "refiner_steps", "transformer_steps", "joins")),
        "",
        *([details["note"], ""] if "note" in details else []),
        "## Numbers",
        "",
        "| measure | value |",
        "|---|---|",
        *(f"| {name.replace('_', ' ')} | {value} |" for name, value in metrics.items()),
        "",
    ]
    if evaluation:
        lines += evaluation_lines(evaluation)
    lines += [
        "## Limits",
        "",
        "- Imperatives near the verbs of the data, in English or in what the gate's table translates; others are "
        "refused by the gate, whose word lists and sentence similarity can be fooled by idioms and rare words.",
        "- About an hour of motion: rare skills (backflip, handstand, cartwheel) have a handful of clips each, so "
        "their variety is small and follows those clips closely.",
        "- Held-out clips are far less likely under the model than training clips, and the words help little there: "
        "it recombines what it has seen more than it generalises. The distance from the nearest training clip tells "
        "how closely.",
        "- Walking backwards is walking played backwards, but for one clip; lying down is mostly getting up played "
        "backwards.",
        "- Times were measured on a machine busy with other work.",
        "- Hands and face are not part of the skeleton: 'thumbs up' or 'grab' show the arm only. The head is one "
        "joint: nodding is seen, turning it hardly.",
        "- One pass makes at most 9.8 s; up to 20 s go on from the last steps of the pass before.",
        "",
    ]
    return "\n".join(lines)


def matcher_card(details: dict) -> str:
    """The card of a network that compares words and motions.

    Args:
        details: what train_matching.py puts into the file's header.
    """
    found = {name: value for name, value in details.items() if name.startswith("held_out")}
    lines = [
        "# Words and motions in one space",
        "",
        "Tells how well a text fits a motion of 22 joints. Made by `lagoon.text2motion.train_matching`. One such pair "
        "of networks chooses among a generator's candidates; another, trained apart, judges what was chosen.",
        "",
        "## Licence and data",
        "",
        f"Apache-2.0. Trained on {details['examples']} examples made of the training clips of the sets "
        f"{', '.join(details['sets'])}, the same that the generator is trained on; sources and attributions are in the "
        "generator's card. Held-out clips were not used.",
        "",
        "## Training and numbers",
        "",
        "    python -m lagoon.text2motion.train_matching data=FOLDER out=FOLDER "
        + " ".join(f"{key}={details[key]}" for key in ("seed", "steps", "batch", "lr", "joins")),
        "",
        "Among its own caption and one of every other held-out verb, each held-out clip's own is:",
        "",
        "| measure | value |",
        "|---|---|",
        *(f"| {name.replace('_', ' ')} | {value} |" for name, value in found.items()),
        "",
        "## Limits",
        "",
        "- About an hour of motion: what the data never shows together, it cannot tell apart.",
        "- Hands and face are not part of the skeleton, and the head is one joint: looking left is hardly seen.",
        "",
    ]
    return "\n".join(lines)


def evaluation_lines(evaluation: dict) -> list[str]:
    """The sections that evaluate.py fills."""
    lines = [
        f"Kinematic predicates, {evaluation['seeds']} seeds each, default settings "
        "(`python -m lagoon.text2motion.evaluate`):",
        "",
        "| command | passes | planted | foot slide [m/s] | jitter [mm] | seconds |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['command']} | {row['passes']}/{evaluation['seeds']} | {row['planted']}/{evaluation['seeds']} | "
        f"{row['foot_slide']:.3f} | {1000 * row['jitter']:.2f} | {row['seconds']:.1f} |"
        for row in evaluation["commands"]
    ]
    lines += ["", "| over all commands | value |", "|---|---|"]
    lines += [f"| {name.replace('_', ' ')} | {value} |" for name, value in evaluation["overall"].items()]
    lines += [
        "",
        "How to read this: guidance, temperature and the weight of the usual activity were chosen on six to twelve of "
        "these commands with seeds 0 to 9, so their rates are in-sample; the thresholds of the punch, dance and swing "
        "predicates were set by looking at training clips. 'Planted' counts motions whose both feet never move. "
        "Motions were chosen by words and plausibility alone, not by what they cost on a robot.",
        "",
    ]
    lines += held_out_lines(evaluation)
    lines += composite_lines(evaluation)
    return lines


SCORES = {
    "fid": "FID",
    "r_precision_1": "R-precision@1",
    "r_precision_2": "@2",
    "r_precision_3": "@3",
    "matching_score": "matching score",
    "diversity": "diversity",
    "multimodality": "multimodality",
    "foot_slide_m_per_s": "foot slide [m/s]",
    "predicates": "predicate holds",
    "nearest_training_clip_m": "nearest training clip [m]",
}
"""Columns of the table of scores."""


def held_out_lines(evaluation: dict) -> list[str]:
    """The table of the field's scores on the held-out clips; empty without them."""
    if "held_out" not in evaluation:
        return []
    found = evaluation["held_out"]
    lines = [
        f"On the {found['clips']} held-out clips and their mirror images, {found['seeds']} seeds, mean and half width "
        "of the 95 % confidence interval:",
        "",
        "| system | " + " | ".join(SCORES.values()) + " |",
        "|---" * (len(SCORES) + 1) + "|",
    ]
    for name, row in found["systems"].items():
        cells = [_with_interval(row[key]) if key in row else "" for key in SCORES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def composite_lines(evaluation: dict) -> list[str]:
    """How many commands of two parts are done whole, per system; empty without them."""
    if "composites" not in evaluation:
        return []
    found = evaluation["composites"]
    names = list(found["systems"])
    lines = [
        f"Commands of two parts, {found['seeds']} seeds each: motions that do both, in order or at once.",
        "",
        "| command | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for command in next(iter(found["systems"].values()))["passes"]:
        cells = [f"{found['systems'][name]['passes'][command]}/{found['seeds']}" for name in names]
        lines.append(f"| {command} | " + " | ".join(cells) + " |")
    shares = [_with_interval(found["systems"][name]["share"]) for name in names]
    return [*lines, "| all | " + " | ".join(shares) + " |", ""]


def typed_lines(evaluation: dict) -> list[str]:
    """What became of the commands of a table, in one line and a list of the weak ones; empty without them."""
    if "typed" not in evaluation:
        return []
    rows, seeds = evaluation["typed"], evaluation["typed_seeds"]
    good = sum(row["passes"] >= 0.8 * seeds for row in rows)
    weak = [f"'{row['command']}' {row['passes']}/{seeds}" for row in rows if row["passes"] < 0.8 * seeds]
    tail = f" Below that: {', '.join(weak)}." if weak else ""
    return [f"{good} of {len(rows)} typed commands satisfy their predicate in 80 % of {seeds} seeds or more.{tail}"]


def _with_interval(pair: list[float]) -> str:
    mean, half = pair
    return f"{mean:.3f} ± {half:.3f}" if half else f"{mean:.3f}"
