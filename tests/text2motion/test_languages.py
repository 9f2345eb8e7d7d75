from __future__ import annotations

import pytest

from lagoon.text2motion import languages, lexicon
from lagoon.text2motion.model import load_model
from lagoon.text2motion.wording import tokens

ENGLISH = frozenset(w for text in load_model("default").bank.texts for w in tokens(text)) | lexicon.words(
    "english", "light"
)


def translated(text: str) -> tuple[str, str] | None:
    found = languages.translate(text, ENGLISH.__contains__)
    return (found.words, found.language) if found else None


@pytest.mark.parametrize(
    ("text", "words", "language"),
    [
        ("winke mir zu", "wave to me", "German"),
        ("Setz dich bitte!", "sit down", "German"),
        ("mach 3 Kniebeugen", "do 3 squats", "German"),
        ("winke zweimal, dann verbeuge dich", "wave twice then bow", "German"),
        ("assieds-toi", "sit down", "French"),
        ("Assieds\u2010toi s'il te plaît", "sit down", "French"),
        ("saute trois fois", "jump three times", "French"),
        ("siéntate", "sit down", "Spanish"),
        ("SIENTATE", "sit down", "Spanish"),
        ("gira a la izquierda y salta", "turn left and jump", "Spanish"),
        ("batti le mani", "clap your hands", "Italian"),
        ("dança", "dance", "Portuguese"),
        ("zwaai naar mij", "wave to me", "Dutch"),
        ("跳", "jump", "Chinese"),
        ("请向左转。", "turn left", "Chinese"),
        ("跳3次", "jump 3 times", "Chinese"),
        ("座れ", "sit down", "Japanese"),
        ("手を振ってください", "wave", "Japanese"),
    ],
)
def test_known_verbs_are_translated(text, words, language):
    assert translated(text) == (words, language)


@pytest.mark.parametrize(
    "text",
    [
        "wave hello",
        "spring up",
        "dance",
        "jump",
        "spring vom Balkon",
        "ouvre la porte",
        "zweimal",
        "天气怎么样",
        "прыгай",
        "",
        "3",
    ],
)
def test_english_and_what_is_not_covered_wholly_are_not_translated(text):
    assert translated(text) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("прыгай", "Russian or another language in Cyrillic script"),
        ("اقفز", "Arabic or another language in Arabic script"),
        ("앉아", "Korean"),
        ("नाचो", "Hindi or another language in Devanagari script"),
        ("κάτσε κάτω", "Greek"),
        ("נופף ביד", "Hebrew"),
        ("天气怎么样", "Chinese"),
        ("天気はどうですか", "Japanese"),
        ("spring vom Balkon und tanze", "German"),
        ("ouvre la porte de la cuisine", "French"),
        ("abre la ventana de la cocina", "Spanish"),
        ("hoppa på golvet och vinka till mig", "Swedish"),
        ("usiądź na podłodze", "Polish"),
        ("otur ve el salla", "Turkish"),
        ("ülj le és integess", "Hungarian"),
    ],
)
def test_other_languages_are_named(text, language):
    assert languages.language_of(text, ENGLISH.__contains__, ENGLISH.__contains__) == language


@pytest.mark.parametrize(
    "text",
    ["wave hello", "do a cartwheel", "turn left and sit down", "do a pirouetté", "jmup", "heel", "order a pizza"],
)
def test_english_is_not_taken_for_another_language(text):
    readable = ENGLISH.union(["pirouette", "order", "pizza"]).__contains__
    assert languages.language_of(text, ENGLISH.__contains__, readable) == ""


def test_dictionaries_name_what_the_marks_do_not():
    assert languages.by_dictionary("conte-me uma piada") == "Portuguese"
    assert languages.by_dictionary("order a pizza") == ""
    assert languages.by_dictionary("qwrt zxcv") == ""


def test_every_translation_is_a_command_the_model_knows():
    modifiers = lexicon.words("languages", "modifiers")
    for language, entry in lexicon.table("languages")["translated"].items():
        for english, said in entry["say"].items():
            assert said and all(isinstance(phrase, str) for phrase in said), (language, english)
            assert english in modifiers or all(word in ENGLISH for word in tokens(english)), (language, english)
