"""Words in names: taking names apart, and putting words together in the ways people write names."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VOWELS = re.compile(r"(?<=.)[aeiouy]")
_IRREGULAR = {"person": "people", "child": "children", "staff": "staff", "series": "series", "aircraft": "aircraft"}

CASES = ("snake", "upper", "camel", "pascal", "kebab", "spaced")


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case.

    >>> words_of("isPC-MemberOf"), words_of("Part-Time_job2")
    (('is', 'pc', 'member', 'of'), ('part', 'time', 'job', '2'))
    """
    return tuple(word.lower() for word in _WORD.findall(name))


def cased(words: tuple[str, ...], case: str) -> str:
    """Words as one name: first_name, FIRST_NAME, firstName, FirstName, first-name or First name."""
    match case:
        case "snake":
            return "_".join(words)
        case "upper":
            return "_".join(words).upper()
        case "camel":
            return words[0] + "".join(word.capitalize() for word in words[1:])
        case "pascal":
            return "".join(word.capitalize() for word in words)
        case "kebab":
            return "-".join(words)
        case _:
            return " ".join(words).capitalize()


def case_like(name: str) -> str:
    """The way the ontology writes a name: a class FirstName, a property firstName."""
    return "pascal" if name[:1].isupper() else "camel"


def plural(word: str) -> str:
    """The plural of an English noun, or what a hurried designer takes for it."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def abbreviated(word: str, keep_vowels: bool) -> str:
    """About three letters for a word: its first ones (`department`, dep) or its first consonants (dpr)."""
    return (word if keep_vowels else _VOWELS.sub("", word))[:3]
