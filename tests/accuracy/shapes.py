# SPDX-License-Identifier: Apache-2.0
"""Published configurations, by the name that `whyoom budget --model` knows: the class of transformers and what differs from its defaults."""


def llama(layers, hidden, intermediate, heads, kv_heads, vocab, tied=False, **more):
    return "LlamaConfig", {"num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": intermediate, "num_attention_heads": heads,
                           "num_key_value_heads": kv_heads, "vocab_size": vocab, "tie_word_embeddings": tied, "max_position_embeddings": 131072, **more}


def other(kind, layers, hidden, intermediate, heads, kv_heads, vocab, tied=False, **more):
    return kind, {**llama(layers, hidden, intermediate, heads, kv_heads, vocab, tied)[1], **more}


CONFIGURATIONS = {
    "llama-2-7b": llama(32, 4096, 11008, 32, 32, 32000),
    "llama-2-13b": llama(40, 5120, 13824, 40, 40, 32000),
    "llama-2-70b": llama(80, 8192, 28672, 64, 8, 32000),
    "llama-3.1-8b": llama(32, 4096, 14336, 32, 8, 128256),
    "llama-3.1-70b": llama(80, 8192, 28672, 64, 8, 128256),
    "llama-3.2-1b": llama(16, 2048, 8192, 32, 8, 128256, True),
    "llama-3.2-3b": llama(28, 3072, 8192, 24, 8, 128256, True),
    "tinyllama-1.1b": llama(22, 2048, 5632, 32, 4, 32000),
    "smollm2-135m": llama(30, 576, 1536, 9, 3, 49152, True),
    "smollm2-1.7b": llama(24, 2048, 8192, 32, 32, 49152, True),
    "mistral-7b-v0.1": other("MistralConfig", 32, 4096, 14336, 32, 8, 32000, sliding_window=None),
    "qwen2.5-0.5b": other("Qwen2Config", 24, 896, 4864, 14, 2, 151936, True),
    "qwen2.5-1.5b": other("Qwen2Config", 28, 1536, 8960, 12, 2, 151936, True),
    "qwen2.5-7b": other("Qwen2Config", 28, 3584, 18944, 28, 4, 152064),
    "qwen2.5-14b": other("Qwen2Config", 48, 5120, 13824, 40, 8, 152064),
    "qwen2.5-32b": other("Qwen2Config", 64, 5120, 27648, 40, 8, 152064),
    "qwen3-0.6b": other("Qwen3Config", 28, 1024, 3072, 16, 8, 151936, True, head_dim=128),
    "qwen3-8b": other("Qwen3Config", 36, 4096, 12288, 32, 8, 151936, head_dim=128),
    "gemma-2b": other("GemmaConfig", 18, 2048, 16384, 8, 1, 256000, True, head_dim=256),
    "gemma-2-2b": other("Gemma2Config", 26, 2304, 9216, 8, 4, 256000, True, head_dim=256),
    "gemma-7b": other("GemmaConfig", 28, 3072, 24576, 16, 16, 256000, True, head_dim=256),
    "phi-3-mini": other("Phi3Config", 32, 3072, 8192, 32, 32, 32064, pad_token_id=0),
    "mixtral-8x7b": other("MixtralConfig", 32, 4096, 14336, 32, 8, 32000, num_local_experts=8, num_experts_per_tok=2, sliding_window=None),
    "qwen3-30b-a3b": other("Qwen3MoeConfig", 48, 2048, 6144, 32, 4, 151936, head_dim=128, num_experts=128, num_experts_per_tok=8,
                           moe_intermediate_size=768),
    "qwen1.5-moe-a2.7b": other("Qwen2MoeConfig", 24, 2048, 5632, 16, 16, 151936, num_experts=60, num_experts_per_tok=4, moe_intermediate_size=1408,
                               shared_expert_intermediate_size=5632, decoder_sparse_step=1),
    "olmoe-1b-7b": other("OlmoeConfig", 16, 2048, 1024, 16, 16, 50304, num_experts=64, num_experts_per_tok=8),
    "deepseek-v2-lite": other("DeepseekV2Config", 27, 2048, 10944, 16, 16, 102400, moe_intermediate_size=1408, n_routed_experts=64, n_shared_experts=2,
                              num_experts_per_tok=6, first_k_dense_replace=1, kv_lora_rank=512, q_lora_rank=None, qk_nope_head_dim=128,
                              qk_rope_head_dim=64, v_head_dim=128),
    "gemma-3-1b": other("Gemma3TextConfig", 26, 1152, 6912, 4, 1, 262144, True, head_dim=256, sliding_window=512),
    "gemma-3-4b": other("Gemma3TextConfig", 34, 2560, 10240, 8, 4, 262208, True, head_dim=256, sliding_window=1024),
    "granite-3.3-2b": other("GraniteConfig", 40, 2048, 8192, 32, 8, 49159, True),
    "olmo-2-1b": other("Olmo2Config", 16, 2048, 8192, 16, 16, 100352),
    "glm-4-9b-0414": other("Glm4Config", 40, 4096, 13696, 32, 2, 151552, head_dim=128, attention_bias=True, pad_token_id=0),
    "command-r7b": other("Cohere2Config", 32, 4096, 14336, 32, 8, 256000, True, sliding_window=4096),
    "gpt2": ("GPT2Config", {}),
    "gpt2-medium": ("GPT2Config", {"n_layer": 24, "n_embd": 1024, "n_head": 16}),
    "gpt2-large": ("GPT2Config", {"n_layer": 36, "n_embd": 1280, "n_head": 20}),
    "gpt2-xl": ("GPT2Config", {"n_layer": 48, "n_embd": 1600, "n_head": 25}),
    "opt-1.3b": ("OPTConfig", {"num_hidden_layers": 24, "hidden_size": 2048, "ffn_dim": 8192, "num_attention_heads": 32, "vocab_size": 50272,
                               "max_position_embeddings": 2048, "word_embed_proj_dim": 2048}),
    "pythia-1.4b": ("GPTNeoXConfig", {"num_hidden_layers": 24, "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 16,
                                      "vocab_size": 50304, "max_position_embeddings": 2048}),
    "falcon-7b": ("FalconConfig", {"num_hidden_layers": 32, "hidden_size": 4544, "num_attention_heads": 71, "vocab_size": 65024, "multi_query": True,
                                   "parallel_attn": True, "bias": False, "new_decoder_architecture": False, "alibi": False}),
    "bert-base-uncased": ("BertConfig", {}),
    "bert-large-uncased": ("BertConfig", {"num_hidden_layers": 24, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16}),
}
