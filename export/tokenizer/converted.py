"""What a checkpoint's tokenizer becomes, for every family alike.

A family's converter says where ids come from; graphs, manifest and verification only ever see this.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from export.tokenizer.original import Original, SpecialIds
from service.package.tokenizer import SourceTokenizer, TargetTokenizer


@dataclass(frozen=True, slots=True)
class ConvertedTokenizers:
    """The converted tokenizers and what the service has to know beside them.

    source_json, target_json: contents of the two tokenizer files.
    source_vocabulary_size, target_vocabulary_size: rows of the embedding tables; source ids from there on are unknown.
    language_ids: code as the checkpoint spells it (`deu`, `deu_Latn`, `de_DE`) to id, empty for models of one pair.
    original: the checkpoint's own tokenizer, which these are compared with.
    language_lead_ids: ids that the original puts before a language token in front of a text.
    decisions: sentences for the export log.
    """

    source_json: str
    target_json: str
    source_vocabulary_size: int
    target_vocabulary_size: int
    source_special: SpecialIds
    target_special: SpecialIds
    language_ids: Mapping[str, int]
    original: Original
    language_lead_ids: tuple[int, ...] = ()
    decisions: tuple[str, ...] = ()

    def source_tokenizer(self) -> SourceTokenizer:
        """The source tokenizer as the service opens it, made anew for each call."""
        return SourceTokenizer.from_json(self.source_json, self.source_vocabulary_size, self.source_special.unk)

    def target_tokenizer(self) -> TargetTokenizer:
        """The target tokenizer as the service opens it, made anew for each call."""
        return TargetTokenizer.from_json(self.target_json)
