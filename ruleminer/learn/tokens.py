"""Text ⇄ tokens: one vocabulary for facts and rules, in which names can be recognised and copied.

A text is cut into units: symbols (punctuation of the rule language with its blanks, IRI namespaces), pairs of
digits, and *runs* of words. A run is an identifier or a phrase; its words are written in lower case, and how
they were written stands before them as a style:

    ProgramCommitteeChair      ⟪Camel⟫ ▁program ▁committee ▁chair
    program_committee_chairs   ▁program ▁committee ▁chair s
    "http://example.org/a/12"  ⟪"⟫ ⟪http://example.org/⟫ ▁a ⟪/⟫ ⟪12⟫ ⟪"⟫

Words go through a sentencepiece model trained on the run's own words, what is left goes as UTF-8 bytes.
`decode(encode(text)) == text` for every text; a text that extends another at a unit's end extends its tokens.
"""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import sentencepiece as sp

LOWER, CAPITAL, UPPER = "lower", "Capital", "UPPER"
_FORMS: dict[str, Callable[[str], str]] = {
    LOWER: str,
    CAPITAL: lambda word: word[0].upper() + word[1:],
    UPPER: str.upper,
}
_SEPARATORS = ("_", " ", "-", "")
_STYLES = {  # name: separator, case of the first word, case of the others
    "snake": ("_", LOWER, LOWER),  # the default, which is not written
    "Camel": ("", CAPITAL, CAPITAL),
    "camel": ("", LOWER, CAPITAL),
    "SNAKE": ("_", UPPER, UPPER),
    "Snake": ("_", CAPITAL, CAPITAL),
    "words": (" ", LOWER, LOWER),
    "Words": (" ", CAPITAL, CAPITAL),
    "Sentence": (" ", CAPITAL, LOWER),
}
_VARIABLES = "xyabcdefgh"
_PHRASES = [  # frequent turns of the rule language as one symbol each: short sequences are fast to learn
    *(
        "(x) <- ",
        "(x, y) <- ",
        " <- ",
        ": ",
        ", ",
        "), ",
        " = ",
        " ++ ",
        '"), ',
        ': "',
        '")',
        '" ++ ',
        ' ++ "',
    ),
    *(f": {v}{end}" for v in _VARIABLES for end in (", ", ")", "), ", '), x = "', '), y = "')),
    *(f'" ++ {v}{end}' for v in _VARIABLES for end in ("", ' ++ "', ', y = "')),
]
_MARKS = [chr(c) for c in range(32, 127) if not chr(c).isalnum()]
_DIGITS = [f"{i}" for i in range(10)] + [f"{i:02}" for i in range(100)]
_CONTROLS = [f"style {name}" for name in _STYLES if name != "snake"]
_CONTROLS += [f"case {case}" for case in _FORMS] + [f"join {sep}" for sep in _SEPARATORS]
_START = {"word", "empty"}
_AFTER_TEXT = {*_START, "style", "case", "text", "byte"}
_AFTER_WORD = {*_START, "piece", "join", "case", "text", "byte"}
_FOLLOWERS = {  # which kinds of tokens may stand behind which
    **dict.fromkeys(("text", "byte"), _AFTER_TEXT),
    **dict.fromkeys(("word", "piece"), _AFTER_WORD),
    "style": {*_START, "case"},
    "join": {*_START, "case"},
    "case": _START,
    "empty": {"piece"},
}
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"<>/?#]+/[^\s\"<>?#]*")
_RUN = re.compile(r"[^\W\d_]+(?:[_ -]?[^\W\d_]+)*")
_MAX_NAMESPACES = 32
_BLANK = "␣"  # sentencepiece has its own mind about blanks in a symbol


@dataclass(frozen=True)
class _Word:
    separator: str
    case: str
    letters: str  # in lower case


class Tokens:
    """A vocabulary; `Tokens.trained_on` makes one, `model` is its file's content."""

    PAD, BOS, EOS = 1, 2, 3  # 0 is sentencepiece's own "unknown", which never occurs

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._words = sp.SentencePieceProcessor(model_proto=model)
        if not model or not len(self._words):
            raise ValueError("no vocabulary in it")
        self._pieces: list[str] = [self._words.id_to_piece(i) for i in range(len(self._words))]
        self._special: dict[int, tuple[str, str]] = {}  # all but the pieces of words: (kind, value)
        for i, piece in enumerate(self._pieces):
            if self._words.is_byte(i):
                self._special[i] = ("byte", piece[3:5])
            elif self._words.is_control(i) or self._words.is_unknown(i):
                self._special[i] = ("none", "")
            elif piece.startswith("⟪"):
                self._special[i] = ("text", piece[1:-1].replace(_BLANK, " "))
            elif piece.startswith("⟦"):
                kind, _, value = piece[1:-1].replace(_BLANK, " ").partition(" ")
                self._special[i] = (kind, value)
        self._ids = {special: i for i, special in self._special.items()}
        self._runs: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._pieces)

    @classmethod
    def trained_on(cls, texts: Iterable[str], size: int = 1024) -> Tokens:
        """A vocabulary of about `size` tokens for these texts (fewer if they have fewer words)."""
        iris: Counter[str] = Counter()
        words: Counter[str] = Counter()
        for text in texts:
            iris.update(_IRI.findall(text))
            for run in _RUN.findall(text):
                words.update(word.letters for word in _words_of(run))
        singular: Counter[str] = Counter()
        for word, count in words.items():
            stem = word[:-1] if word.endswith("s") and word[:-1] in words and len(word) > 3 else word
            singular[stem] += count
        symbols = [*_MARKS, *_PHRASES, *_DIGITS, *_namespaces(iris)]
        fixed = [f"⟪{s.replace(' ', _BLANK)}⟫" for s in dict.fromkeys(symbols)]
        fixed += [f"⟦{c.replace(' ', _BLANK)}⟧" for c in _CONTROLS]
        corpus = [f"{word}\t{count}\n" for word, count in sorted(singular.items())]
        return cls(_train(corpus or ["x\t1\n"], fixed, size))

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without start and end."""
        ids: list[int] = []
        for match in self._units.finditer(text):
            unit = match.group()
            symbol = self._ids.get(("text", unit))
            if symbol is not None:
                ids.append(symbol)
            elif match.lastgroup == "run":
                found = self._runs.get(unit)
                if found is None:
                    found = self._runs[unit] = tuple(self._run_ids(unit))
                ids.extend(found)
            else:
                ids.extend(self._byte_ids(unit))
        return ids

    def decode(self, ids: Iterable[int], partial: bool = False) -> str:
        """The text of tokens; special tokens and bytes that are not UTF-8 do not stop it.

        With `partial` a character whose bytes are not all there yet is left away.
        """
        text = bytearray()
        style, separator, case, in_run = _STYLES["snake"], None, None, False
        for kind, value in self._spans(ids):
            if kind == "word":
                if in_run:
                    text += (style[0] if separator is None else separator).encode()
                text += _FORMS[case or style[2 if in_run else 1]](value).encode()
                separator, case, in_run = None, None, True
            elif kind == "style":
                style, separator, case, in_run = _STYLES[value], None, None, False
            elif kind == "join":
                separator = value
            elif kind == "case":
                case = value
            else:
                text += bytes.fromhex(value) if kind == "byte" else value.encode()
                style, separator, case, in_run = _STYLES["snake"], None, None, False
        if partial:
            return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(text))
        return text.decode("utf-8", errors="replace")

    def kind(self, token: int) -> str:
        """`word` or `empty` (a word's start), `piece` (more), `text`, `byte`, `style`, `join`, `case` or `none`."""
        if token in self._special:
            return self._special[token][0]
        piece = self._pieces[token]
        return "piece" if not piece.startswith("▁") else "word" if len(piece) > 1 else "empty"

    def well_formed(self, ids: Sequence[int]) -> bool:
        """Whether tokens stand in an order in which a text's tokens can stand, as far as that is cheap to say.

        All but the last run, and what touches it, must also be what `encode` makes of their text.
        """
        kinds = ["text", *(self.kind(i) for i in ids)]
        if any(after not in _FOLLOWERS.get(before, ()) for before, after in pairwise(kinds)):
            return False
        settled = max(i for i, kind in enumerate(kinds) if kind in ("text", "byte")) - 5  # bytes of one character
        return settled <= 0 or self.encode(self.decode(ids))[:settled] == list(ids[:settled])

    def _spans(self, ids: Iterable[int]) -> Iterator[tuple[str, str]]:
        """Tokens as (kind, value), the pieces of a word put together."""
        word = ""
        for i in ids:
            piece = self._pieces[i]
            known = self._special.get(i)
            if known is None and not piece.startswith("▁"):
                word += piece
                continue
            if word:
                yield "word", word
            word = piece[1:] if known is None else ""
            if known is not None and known[0] != "none":
                yield known
        if word:
            yield "word", word

    @cached_property
    def _units(self) -> re.Pattern[str]:
        """Symbols, longest first; runs of letters that the model knows; else one character."""
        letters = "".join(sorted(p for p in self._pieces if len(p) == 1 and p.isalpha()))
        letters += "".join(sorted({c.upper() for c in letters if len(c.upper()) == 1}))
        texts = [value for kind, value in self._special.values() if kind == "text" and not value.isdigit()]
        symbols = sorted(texts, key=len, reverse=True)
        run = f"[{re.escape(letters)}]+(?:[_ -]?[{re.escape(letters)}]+)*"
        long = [re.escape(s) for s in symbols if len(s) > 1]
        short = [re.escape(s) for s in symbols if len(s) == 1]
        return re.compile(f"{'|'.join(long)}|[0-9][0-9]?|{'|'.join(short)}|(?P<run>{run})|(?s:.)", re.ASCII)

    def _run_ids(self, run: str) -> Iterator[int]:
        """A run in the style that takes the fewest tokens."""
        words = _words_of(run)
        if _written(words) != run:  # letters whose case does not come back
            yield from self._byte_ids(run)
            return
        costs = {name: sum(len(_markers(words, i, name)) for i in range(len(words))) for name in _STYLES}
        style = min(_STYLES, key=lambda name: costs[name] + (name != "snake"))
        if style != "snake":
            yield self._ids["style", style]
        for i, word in enumerate(words):
            yield from (self._ids[marker] for marker in _markers(words, i, style))
            yield from self._word_ids(word.letters)

    def _byte_ids(self, text: str) -> list[int]:
        return [self._ids["byte", f"{byte:02X}"] for byte in text.encode("utf-8")]

    def _word_ids(self, letters: str) -> list[int]:
        """A word's pieces; the plural of a word that is one piece is that piece and an s."""
        if letters.endswith("s"):
            stem = self._words.encode(letters[:-1])
            plural = self._words.piece_to_id("s")
            if len(stem) == 1 and len(letters) > 3 and self._pieces[plural] == "s":
                return [*stem, plural]
        return list(self._words.encode(letters))


def _words_of(run: str) -> list[_Word]:
    """A run's words: cut at separators, and where a capital begins a word (`hasPCChair`: has, PC, Chair)."""
    words: list[_Word] = []
    separator, start = "", 0
    for i in range(1, len(run) + 1):
        end = i == len(run)
        if not end and not run[i].isalpha():
            continue
        after_separator = not run[i - 1].isalpha()
        hump = not end and run[i].isupper() and (run[i - 1].islower() or run[i + 1 : i + 2].islower())
        if end or after_separator or hump:
            stop = i - after_separator
            words.append(_word(separator, run[start:stop]))
            separator, start = run[stop:i], i
    return words


def _word(separator: str, text: str) -> _Word:
    if text == text.lower():
        return _Word(separator, LOWER, text)
    return _Word(separator, UPPER if len(text) > 1 and text.isupper() else CAPITAL, text.lower())


def _written(words: list[_Word]) -> str:
    return "".join(word.separator + _FORMS[word.case](word.letters) for word in words)


def _markers(words: list[_Word], i: int, style: str) -> list[tuple[str, str]]:
    """What must stand before word i because it departs from the style."""
    separator, first, others = _STYLES[style]
    word = words[i]
    markers = [("join", word.separator)] if i > 0 and word.separator != separator else []
    if word.case != (others if i else first):
        markers.append(("case", word.case))
    return markers


def _namespaces(iris: Counter[str]) -> list[str]:
    """Per host, the path that all its IRIs share, up to a slash."""
    hosts: dict[str, list[list[str]]] = {}
    weight: Counter[str] = Counter()
    for iri, count in sorted(iris.items()):
        segments = iri.split("/")[:-1]
        hosts.setdefault(segments[2], []).append(segments)
        weight[segments[2]] += count
    most = sorted(hosts, key=lambda host: (-weight[host], host))[:_MAX_NAMESPACES]
    return ["/".join(_shared_start(hosts[host])) + "/" for host in most]


def _shared_start(paths: list[list[str]]) -> list[str]:
    shared = paths[0]
    for path in paths:
        same = [a == b for a, b in zip(shared, path, strict=False)]
        shared = shared[: same.index(False) if False in same else len(same)]
    return shared


def _train(corpus: list[str], fixed: list[str], size: int) -> bytes:
    model = io.BytesIO()
    sp.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus),
        model_writer=model,
        input_format="tsv",
        model_type="unigram",
        vocab_size=max(size, len(fixed) + 300),
        hard_vocab_limit=False,
        user_defined_symbols=fixed,
        byte_fallback=True,
        normalization_rule_name="identity",
        character_coverage=0.9995,
        required_chars="abcdefghijklmnopqrstuvwxyz",
        max_sentencepiece_length=24,
        pad_id=Tokens.PAD,
        bos_id=Tokens.BOS,
        eos_id=Tokens.EOS,
        unk_id=0,
        num_threads=1,
        minloglevel=2,
    )
    return model.getvalue()
