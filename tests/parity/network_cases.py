"""Which random checkpoints are compared with transformers: each family, tied and untied, in many sizes and activations.

Data only; imported by tests that have torch, because the checkpoints are made by it.
"""

from tests.parity.random_models import VOCABULARY, RandomModel, move_tensor, rewrite_config

DEEP_ENCODER = {"encoder_layers": 3, "decoder_layers": 1}
DEEP_DECODER = {"encoder_layers": 1, "decoder_layers": 3}
ODD = {"d_model": 21, "encoder_attention_heads": 3, "decoder_attention_heads": 3}
SEPARATE = {"share_encoder_decoder_embeddings": False, "vocab_size": 61, "decoder_vocab_size": VOCABULARY}
UNTIED_T5 = {"tie_word_embeddings": False}
# What transformers 4 wrote about ties in T5 files; 5 says the same in other words.
OLD_UNTIED = rewrite_config(tie_word_embeddings=False, scale_decoder_outputs=None)

CASES = {
    "marian": RandomModel("marian", {"activation_function": "swish", "scale_embedding": True}),
    "marian, untied, relu": RandomModel("marian", {**DEEP_DECODER, "activation_function": "relu"}, untied=True),
    "marian, two vocabularies": RandomModel("marian", {**SEPARATE, **DEEP_ENCODER, "activation_function": "gelu"}),
    "marian, two vocabularies, untied": RandomModel("marian", {**SEPARATE, "activation_function": "relu"}, untied=True),
    "marian, odd width": RandomModel("marian", {**ODD, "activation_function": "gelu_new"}),
    "marian, quick gelu": RandomModel("marian", {"activation_function": "quick_gelu"}),
    "m2m100": RandomModel("m2m100", forced_first_id=17),
    "m2m100, untied, deep encoder": RandomModel("m2m100", DEEP_ENCODER, untied=True, forced_first_id=9),
    "m2m100, deep decoder, swish": RandomModel("m2m100", {**DEEP_DECODER, "activation_function": "swish"}),
    "m2m100, odd width, gelu": RandomModel("m2m100", {**ODD, "activation_function": "gelu"}, forced_first_id=11),
    "m2m100, unscaled": RandomModel("m2m100", {"scale_embedding": False}, forced_first_id=50),
    "m2m100, fond of pad": RandomModel("m2m100", {"encoder_layers": 1}, rows={1: 3.0}, seed=4),
    "mbart": RandomModel("mbart", forced_first_id=17),
    "mbart, untied, relu": RandomModel("mbart", {**DEEP_DECODER, "activation_function": "relu"}, untied=True),
    "mbart, scaled, deep encoder": RandomModel("mbart", {**DEEP_ENCODER, "scale_embedding": True}, forced_first_id=9),
    "mbart, odd width, quick gelu": RandomModel("mbart", {**ODD, "activation_function": "quick_gelu"}),
    "mbart, started by the language": RandomModel("mbart", {"decoder_start_token_id": None}, start_id=44),
    "t5": RandomModel("t5"),
    "t5, deep decoder": RandomModel("t5", {"num_layers": 1, "num_decoder_layers": 3, "feed_forward_proj": "gelu"}),
    "t5 v1.1": RandomModel("t5", {**UNTIED_T5, "feed_forward_proj": "gated-gelu"}, untied=True),
    "t5 v1.1, written by transformers 4": RandomModel(
        "t5", {**UNTIED_T5, "feed_forward_proj": "gated-gelu", "num_layers": 3}, untied=True, edit=OLD_UNTIED
    ),
    "t5, tied but unscaled": RandomModel("t5", {**UNTIED_T5, "feed_forward_proj": "gated-silu"}),
    "t5, untied but scaled": RandomModel("t5", {"d_kv": 5, "num_heads": 4}, untied=True),
    "t5, odd width, another activation": RandomModel(
        "t5", {"d_model": 21, "d_kv": 8, "feed_forward_proj": "gated-gelu"}, edit=rewrite_config(dense_act_fn="silu")
    ),
    "mt5": RandomModel("mt5", {"feed_forward_proj": "gated-gelu"}, untied=True),
    "mt5, tied": RandomModel("mt5", {"num_heads": 2, "d_kv": 9}),
    "madlad": RandomModel(
        "t5",
        {
            **UNTIED_T5,
            "feed_forward_proj": "gated-gelu",
            "decoder_start_token_id": 0,
            "pad_token_id": 1,
            "eos_token_id": 2,
            "relative_attention_num_buckets": 11,
            "relative_attention_max_distance": 7,
        },
        untied=True,
        edit=move_tensor("shared.weight", "decoder.embed_tokens.weight"),
    ),
}
