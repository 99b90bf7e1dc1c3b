"""MarianMT tokenization done the original way: SentencePiece for pieces, then the vocabulary for ids.

The reference that converted tokenizers are measured against. It differs from the Hugging Face class in one respect,
on purpose: special and language tokens that a text spells out are ordinary text.
"""

from collections.abc import Sequence
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from export.tokenizer.marian_files import read_marian_files
from export.tokenizer.sentencepiece_model import SPACE_MARK, PieceKind
from export.tokenizer.unigram import segmentation_scores

_UNKNOWN_PENALTY = 10.0
"""What SentencePiece takes off the lowest score for a character without a piece."""


class MarianOracle:
    """Encodes source texts and decodes target ids with the files of a checkpoint."""

    def __init__(self, checkpoint: Path) -> None:
        files = read_marian_files(checkpoint)
        self._source = SentencePieceProcessor(model_file=str(checkpoint / "source.spm"))
        self._target = SentencePieceProcessor(model_file=str(checkpoint / "target.spm"))
        self._source_ids = files.source_ids
        self._target_ids = files.target_ids
        self._target_pieces = {token_id: piece for piece, token_id in files.target_ids.items()}
        self._hidden = files.hidden_source_pieces
        self._special = frozenset(files.special.all)
        self._unk = files.special.unk
        self._scores = segmentation_scores(files.source_model)
        normal = files.source_model.of_kind(PieceKind.NORMAL)
        self._unknown_score = min((piece.score for piece in normal), default=0.0) - _UNKNOWN_PENALTY

    def source_pieces(self, text: str) -> list[str]:
        """Returns the pieces of a source text; unknown stretches as they are spelled."""
        return list(self._source.encode(text, out_type=str))

    def source_ids(self, pieces: Sequence[str]) -> list[int]:
        """Returns the ids of source pieces, one each."""
        unk_id = self._source_ids[self._unk]
        return [unk_id if piece in self._hidden else self._source_ids.get(piece, unk_id) for piece in pieces]

    def source_score(self, pieces: Sequence[str]) -> float:
        """Returns the log-probability of a segmentation, with unknown characters counted one by one."""
        return sum(self._scores.get(piece, self._unknown_score * len(piece)) for piece in pieces)

    def target_ids(self, text: str) -> list[int]:
        """Returns the ids of a target text without special ids, as training saw them."""
        pieces = self._target.encode(text, out_type=str)
        return [self._target_ids.get(piece, self._target_ids[self._unk]) for piece in pieces]

    def target_text(self, ids: Sequence[int]) -> str:
        """Returns the text of target ids; special ids and rows without a piece leave no trace."""
        pieces = [self._target_pieces[token_id] for token_id in ids if token_id in self._target_pieces]
        text: str = self._target.decode_pieces([piece for piece in pieces if piece not in self._special])
        return text.replace(SPACE_MARK, " ").strip()
