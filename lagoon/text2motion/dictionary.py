"""Which words a language has, by the word lists of pyspellchecker (MIT).

What enters: a lower-case word and a language. What leaves: yes or no. A list is opened when it is first asked.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from lagoon.errors import require

LANGUAGES = {
    "English": "en",
    "German": "de",
    "French": "fr",
    "Spanish": "es",
    "Italian": "it",
    "Portuguese": "pt",
    "Dutch": "nl",
}
"""Languages with a list, and its name in the package."""


def holds(word: str, language: str) -> bool:
    """Whether a language has a word.

    Args:
        word: in lower case, with its accents.
        language: a key of LANGUAGES.

    Raises:
        MissingExtraError: pyspellchecker is not installed.
    """
    return word in _list(LANGUAGES[language])


@cache
def _list(code: str) -> Any:
    return require("spellchecker", "text2motion").SpellChecker(language=code).word_frequency
