"""A small manifest that is consistent, as JSON content."""

HASH = "0" * 64
CONTENT = {
    "format_version": 1,
    "name": "en-de",
    "family": "marian",
    "dimensions": {
        "encoder_layers": 2,
        "decoder_layers": 1,
        "model_width": 20,
        "num_heads": 2,
        "head_width": 10,
        "cache_head_width": 16,
        "source_vocabulary_size": 50,
        "target_vocabulary_size": 40,
        "max_source_tokens": 64,
        "max_target_tokens": 64,
    },
    "special_ids": {"decoder_start": 39, "eos": 0, "pad": 39, "source_unk": 1, "target_unk": 1},
    "banned_ids": [39],
    "languages": {
        "sources": {"en": {"prefix_ids": [], "suffix_ids": [45]}},
        "targets": {"de": {"source_prefix_ids": [], "forced_first_id": None}},
    },
    "generation": {"beam_size": 4, "max_new_tokens": 63, "renormalize": True, "forced_eos_id": 0},
    "alignment_layer": 0,
    "precisions": {"fp32": {"encoder": "e.onnx", "decoder": "d.onnx"}},
    "default_precision": "fp32",
    "tokenizers": {"source": "s.json", "target": "t.json"},
    "files": {name: {"size_bytes": 1, "sha256": HASH} for name in ("e.onnx", "d.onnx", "s.json", "t.json")},
    "licence": "cc-by-4.0",
    "attribution": "",
    "origin": {"checkpoint": "en-de", "weights_sha256": HASH, "exporter": "verso 0"},
}
