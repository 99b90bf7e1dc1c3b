"""A made-up parallel corpus: sentences put together from phrases, which know what translates what."""

import itertools
from dataclasses import dataclass

WHO = (
    ("the captain", "der Kapitän"),
    ("my sister", "meine Schwester"),
    ("nobody", "niemand"),
    ("an old friend", "ein alter Freund"),
    ("every visitor", "jeder Gast"),
    ("the teacher", "der Lehrer"),
    ("her mother", "ihre Mutter"),
    ("a small child", "ein kleines Kind"),
)
DOES = (
    ("sees", "sieht"),
    ("paints", "malt"),
    ("forgets", "vergisst"),
    ("repairs", "repariert"),
    ("likes", "mag"),
    ("sells", "verkauft"),
    ("needs", "braucht"),
)
WHAT = (
    ("the harbour", "den Hafen"),
    ("the bridge", "die Brücke"),
    ("the small green boat", "das kleine grüne Boot"),
    ("the umbrella", "den Schirm"),
    ("the old letters", "die alten Briefe"),
    ("a red apple", "einen roten Apfel"),
    ("the garden", "den Garten"),
)
WHEN = (
    ("today", "heute"),
    ("before noon", "vor Mittag"),
    ("in the rain", "im Regen"),
    ("again", "wieder"),
    ("every day", "jeden Tag"),
    ("without a word", "ohne ein Wort"),
)

Span = tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation; spans are characters, by the phrase they stand for."""

    source: str
    target: str
    source_spans: dict[str, Span]
    target_spans: dict[str, Span]

    def alignment(self, source_pieces: list[str], target_pieces: list[str]) -> str:
        """Links between pieces as Marian reads them, `source-target`; phrases are walked through side by side."""
        sources, targets = piece_spans(source_pieces), piece_spans(target_pieces)
        links = set()
        for phrase, span in self.target_spans.items():
            left = touched(sources, self.source_spans[phrase])
            right = touched(targets, span)
            for step, target in enumerate(right):
                links.add((left[round(step * (len(left) - 1) / max(len(right) - 1, 1))], target))
        return " ".join(f"{source}-{target}" for source, target in sorted(links))


def make_pairs() -> list[Pair]:
    """Every sentence there is, in one order with its time at the end and in another with it in front."""
    pairs = []
    for who, does, what, when in itertools.product(WHO, DOES, WHAT, WHEN):
        phrases = {"who": who, "does": does, "what": what, "when": when, "end": (".", ".")}
        pairs.append(_pair(phrases, ("who", "does", "what", "when", "end"), ("who", "does", "when", "what", "end")))
        pairs.append(
            _pair(phrases, ("when", ",", "who", "does", "what", "end"), ("when", "does", "who", "what", "end"))
        )
    return pairs


def _pair(phrases: dict[str, tuple[str, str]], source: tuple[str, ...], target: tuple[str, ...]) -> Pair:
    source_text, source_spans = _join([(name, phrases.get(name, (name, ""))[0]) for name in source])
    target_text, target_spans = _join([(name, phrases[name][1]) for name in target])
    return Pair(source_text, target_text, source_spans, target_spans)


def _join(parts: list[tuple[str, str]]) -> tuple[str, dict[str, Span]]:
    text, spans = "", {}
    for name, part in parts:
        phrase = part if text else part[0].upper() + part[1:]
        text += " " if text and phrase not in ".," else ""
        spans[name] = (len(text), len(text) + len(phrase))
        text += phrase
    return text, spans


def piece_spans(pieces: list[str]) -> list[Span]:
    """Where pieces lie in the text; the space that SentencePiece puts in front is before its start."""
    spans, place = [], -1
    for piece in pieces:
        spans.append((max(place, 0), place + len(piece)))
        place += len(piece)
    return spans


def touched(spans: list[Span], wanted: Span) -> list[int]:
    """Which spans overlap another one."""
    return [number for number, (start, end) in enumerate(spans) if start < wanted[1] and end > wanted[0]]
