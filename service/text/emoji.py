"""Where emoji and other pictures stand in a text, whole sequences at a time.

Follows the grammar of Unicode Technical Standard 51 (ED-9 to ED-17): modifiers, joiners, flags, keycaps, tag sequences.
Blocks are taken as a whole, symbols that are no emoji and characters not yet assigned included: models know neither.
"""

import re
from typing import Final

_PICTURE: Final = (
    "\u231a-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# Text characters that a variation selector makes emoji.
_TEXT: Final = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff"
_MODIFIER: Final = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]{0,4}(?:[\U000e0020-\U000e007e]{1,64}\U000e007f)?\u20e3?"
_ONE: Final = f"(?:[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|[{_TEXT}]\ufe0f|[{_PICTURE}]{_MODIFIER})"
SEQUENCES: Final = re.compile(rf"{_ONE}(?:\u200d?(?:{_ONE}|[\u2640\u2642\u2695\u2696\u2708]\ufe0f?))*")
"""Finds runs of emoji without anything between them."""
