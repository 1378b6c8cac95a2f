#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs that are measured: cases.py > cases.json

Each is one way in which people train, at several sizes; the order is that of what is worth most, since a card may be lent for minutes only.
"""
import json
import sys

LISTED = {}


def add(kind, model, **settings):
    case = {"kind": kind, "model": model, **settings}
    words = [str(value) if not isinstance(value, bool) else key.replace("_", "-") for key, value in settings.items() if value is not False]
    name = "-".join([model, *words])
    LISTED[name] = {"id": name, **case}


def lm(model, micro_batch, seq_len, dtype="bf16", **settings):
    add("lm", model, dtype=dtype, micro_batch=micro_batch, seq_len=seq_len, **settings)


add("context", "none")
# Full fine-tuning in 16 bits.
for model, sizes in {"gpt2": ((4, 512), (8, 1024)), "gpt2-xl": ((1, 1024), (4, 1024)), "llama-3.2-1b": ((1, 1024), (4, 1024), (2, 4096)),
                     "qwen2.5-0.5b": ((2, 1024), (8, 2048)), "qwen2.5-1.5b": ((2, 2048),), "qwen3-0.6b": ((1, 2048), (4, 1024)),
                     "gemma-2b": ((1, 1024), (2, 2048)), "gemma-2-2b": ((1, 2048),), "phi-3-mini": ((1, 2048), (2, 1024)), "tinyllama-1.1b": ((4, 2048),),
                     "smollm2-135m": ((8, 2048), (32, 512)), "opt-1.3b": ((2, 1024),), "pythia-1.4b": ((2, 2048), (1, 512)),
                     "llama-3.1-8b": ((1, 2048),), "falcon-7b": ((1, 1024),)}.items():
    for b, s in sizes:
        lm(model, b, s)
        lm(model, b, s, checkpointing=True)
# Full in fp32 and under autocast.
for model, b, s in (("gpt2", 4, 1024), ("gpt2-medium", 8, 512), ("gpt2-large", 2, 1024), ("llama-3.2-1b", 2, 1024), ("qwen2.5-0.5b", 4, 1024), ("opt-1.3b", 1, 2048),
                    ("pythia-1.4b", 1, 2048), ("qwen3-0.6b", 2, 1024), ("bert-base-uncased", 16, 512), ("bert-large-uncased", 8, 512)):
    masked = {"masked": True} if model.startswith("bert") else {}
    for dtype in ("fp32", "amp"):
        lm(model, b, s, dtype, **masked)
    lm(model, b, s, "amp", checkpointing=True, **masked)
# Optimizers.
for model, b, s in (("llama-3.2-1b", 1, 512), ("qwen2.5-1.5b", 1, 512)):
    for optimizer in ("adamw-fused", "adamw-single", "sgd", "sgd-momentum", "adafactor", "adam8bit", "paged-adam8bit", "lion", "lion8bit"):
        lm(model, b, s, optimizer=optimizer)
lm("gpt2-large", 1, 512, "fp32", optimizer="adam8bit")
lm("gpt2-large", 1, 512, "fp32", optimizer="adafactor")
# Attention scores that are kept.
for model, b, s in (("gpt2", 4, 1024), ("llama-3.2-1b", 2, 2048), ("qwen2.5-0.5b", 2, 2048), ("gemma-2-2b", 1, 2048)):
    lm(model, b, s, attention="eager")
# Accumulation.
lm("llama-3.2-1b", 2, 1024, grad_accum=4)
lm("gpt2-xl", 2, 1024, grad_accum=4)
# LoRA.
for model, b, s in (("llama-2-7b", 1, 1024), ("llama-2-7b", 2, 2048), ("llama-3.1-8b", 1, 2048), ("llama-3.1-8b", 4, 1024), ("mistral-7b-v0.1", 2, 2048), ("qwen2.5-7b", 1, 4096),
                    ("qwen2.5-1.5b", 4, 2048), ("llama-3.2-3b", 2, 2048), ("phi-3-mini", 2, 2048), ("gemma-7b", 1, 2048), ("qwen3-8b", 1, 2048)):
    lm(model, b, s, lora_rank=16)
    lm(model, b, s, lora_rank=16, checkpointing=True)
lm("llama-2-7b", 1, 2048, lora_rank=8, targets="attention")
lm("llama-2-7b", 4, 2048, lora_rank=8, targets="attention", checkpointing=True)
lm("llama-3.1-8b", 1, 8192, lora_rank=64, checkpointing=True)
lm("llama-3.1-8b", 1, 2048, lora_rank=16, lora_dropout=0.05)
lm("llama-3.1-8b", 1, 2048, lora_rank=16, dora=True)
lm("llama-3.2-1b", 8, 1024, lora_rank=16, dora=True, checkpointing=True)
lm("qwen2.5-14b", 1, 1024, lora_rank=16, checkpointing=True)
# QLoRA and 8 bits.
for model, b, s in (("llama-2-7b", 1, 2048), ("llama-2-7b", 4, 512), ("llama-3.1-8b", 1, 2048), ("llama-3.1-8b", 2, 4096), ("mistral-7b-v0.1", 4, 1024), ("qwen2.5-7b", 2, 2048),
                    ("llama-3.2-3b", 4, 1024), ("qwen2.5-1.5b", 8, 1024), ("llama-3.2-1b", 4, 2048), ("llama-2-13b", 1, 1024), ("gemma-7b", 1, 1024)):
    lm(model, b, s, quantize="4bit", lora_rank=16, checkpointing=True, optimizer="paged-adam8bit")
for model, b, s in (("llama-2-7b", 1, 1024), ("llama-3.2-3b", 1, 2048), ("qwen2.5-1.5b", 2, 1024)):
    lm(model, b, s, quantize="4bit", lora_rank=16, optimizer="adamw")
    lm(model, b, s, quantize="8bit", lora_rank=16, checkpointing=True)
    lm(model, b, s, quantize="4bit", lora_rank=64, checkpointing=True, double_quant=False)
# transformers' Trainer.
for model, b, s in (("llama-3.2-1b", 2, 1024), ("qwen2.5-0.5b", 4, 1024), ("gpt2-medium", 4, 1024), ("qwen2.5-1.5b", 1, 2048)):
    lm(model, b, s, "fp32", trainer=True, trainer_bf16=True)
    lm(model, b, s, "bf16", trainer=True, trainer_bf16=True)
    lm(model, b, s, "bf16", trainer=True, trainer_bf16=True, checkpointing=True)
for model, b, s in (("llama-2-7b", 1, 2048), ("llama-3.1-8b", 2, 1024), ("qwen2.5-1.5b", 8, 1024)):
    lm(model, b, s, "bf16", trainer=True, trainer_bf16=True, lora_rank=16, checkpointing=True)
    lm(model, b, s, "bf16", trainer=True, trainer_bf16=True, quantize="4bit", lora_rank=16, checkpointing=True, optimizer="paged-adam8bit")
# Liger kernels.
for model, b, s in (("llama-3.2-1b", 4, 2048), ("qwen2.5-1.5b", 4, 2048), ("llama-3.1-8b", 1, 4096)):
    lm(model, b, s, liger=True, **({"lora_rank": 16} if "8b" in model else {}))
    lm(model, b, s, liger=True, checkpointing=True, **({"lora_rank": 16} if "8b" in model else {}))
# Convolutions and vision transformers.
for model, b, image in (("resnet18", 64, 224), ("resnet50", 32, 224), ("resnet50", 128, 224), ("resnet101", 64, 224), ("resnet152", 32, 224), ("vgg16", 32, 224),
                        ("efficientnet_b0", 64, 224), ("mobilenet_v2", 128, 224), ("densenet121", 32, 224), ("convnext_tiny", 32, 224),
                        ("vit_b_16", 32, 224), ("vit_l_16", 16, 224), ("swin_t", 32, 224), ("resnet50", 16, 448), ("regnet_y_8gf", 32, 224)):
    for dtype in ("fp32", "amp"):
        add("vision", model, dtype=dtype, micro_batch=b, image=image, optimizer="sgd-momentum")
# Serving by transformers.
for model, b, s in (("llama-3.1-8b", 1, 4096), ("llama-3.1-8b", 8, 2048), ("qwen2.5-7b", 4, 4096), ("llama-2-7b", 4, 2048), ("mistral-7b-v0.1", 1, 16384), ("gemma-2b", 8, 1024)):
    add("inference", model, dtype="bf16", micro_batch=b, seq_len=s)
# Batches with padding.
for model, b, s in (("llama-3.2-1b", 4, 2048), ("qwen2.5-1.5b", 8, 1024), ("gpt2", 8, 1024), ("llama-3.1-8b", 2, 2048)):
    lm(model, b, s, padding=True, **({"lora_rank": 16} if "8b" in model else {}))
    lm(model, b, s, padding=True, checkpointing=True, **({"lora_rank": 16} if "8b" in model else {}))
# Several cards: rank 0 of them.
for model, b, s in (("llama-3.2-1b", 1, 2048), ("llama-3.1-8b", 1, 2048), ("qwen2.5-1.5b", 2, 1024)):
    for gpus in (4, 8):
        big = "8b" in model
        for strategy in ("fsdp1", "fsdp1-grad", "fsdp2", "fsdp2-grad"):
            lm(model, b, s, "amp", gpus=gpus, strategy=strategy, checkpointing=big)
        for strategy in ("zero1", "zero2", "zero3"):
            if not (big and strategy == "zero1"):
                lm(model, b, s, "bf16", gpus=gpus, strategy=strategy, checkpointing=big)
        if not big:  # the host's part is real also over the stub libraries
            lm(model, b, s, "bf16", gpus=gpus, strategy="zero3", offload_optimizer=True)
            lm(model, b, s, "bf16", gpus=gpus, strategy="zero2", offload_optimizer=True)
    if not big:
        lm(model, b, s, "amp", gpus=8, strategy="ddp")
        lm(model, b, s, "bf16", gpus=8, strategy="ddp")
        lm(model, b, s, "bf16", gpus=8, strategy="ddp-view")
lm("llama-2-7b", 1, 4096, "bf16", gpus=8, strategy="zero3", checkpointing=True)
lm("llama-2-7b", 1, 4096, "bf16", gpus=8, strategy="zero2", lora_rank=16, checkpointing=True)
lm("llama-3.2-3b", 1, 4096, "bf16", gpus=8, strategy="zero3", offload_optimizer=True, offload_params=True, checkpointing=True)
# What does not fit a single card of these; over the stub libraries.
for model, b, s in (("llama-2-13b", 2, 4096), ("qwen2.5-32b", 1, 2048), ("llama-3.1-70b", 1, 4096)):
    lm(model, b, s, lora_rank=16, checkpointing=True)
    lm(model, b, s, quantize="4bit", lora_rank=16, checkpointing=True, optimizer="paged-adam8bit")
lm("llama-3.1-8b", 2, 4096, checkpointing=True)
lm("llama-3.1-8b", 1, 2048, checkpointing=True, optimizer="adam8bit")
# Experts; over the stub libraries.
for model, b, s in (("mixtral-8x7b", 1, 2048), ("qwen3-30b-a3b", 2, 2048), ("olmoe-1b-7b", 4, 2048), ("deepseek-v2-lite", 4, 2048),
                    ("qwen1.5-moe-a2.7b", 2, 2048)):
    for targets in ("attention", "all-linear"):
        lm(model, b, s, lora_rank=16, targets=targets)
        lm(model, b, s, lora_rank=16, targets=targets, checkpointing=True)
    lm(model, 2 * b, 2 * s, lora_rank=16, targets="attention", checkpointing=True)
    lm(model, 4 * b, s, optimizer="sgd")
    lm(model, 8 * b, s, optimizer="sgd", checkpointing=True)
    lm(model, b, s)
# Further layers; over the stub libraries.
for model, b, s in (("gemma-3-1b", 2, 2048), ("gemma-3-4b", 1, 2048), ("granite-3.3-2b", 1, 2048), ("olmo-2-1b", 4, 1024), ("glm-4-9b-0414", 1, 2048),
                    ("command-r7b", 1, 2048)):
    lm(model, b, s)
    lm(model, 2 * b, s, checkpointing=True)
    lm(model, b, 2 * s, lora_rank=16)
# Further optimizers and adapters; over the stub libraries.
for model, b, s in (("llama-3.2-1b", 1, 512), ("qwen2.5-1.5b", 1, 1024), ("llama-3.1-8b", 1, 512)):
    lm(model, b, s, optimizer="muon", checkpointing=True)
    lm(model, b, s, optimizer="galore", checkpointing=True)
lm("llama-3.2-1b", 1, 512, "fp32", optimizer="muon")
lm("llama-3.2-1b", 1, 512, "fp32", optimizer="galore", galore_rank=512)
for model, b, s in (("llama-3.2-1b", 4, 1024), ("qwen2.5-7b", 1, 1024), ("mistral-7b-v0.1", 1, 2048)):
    lm(model, b, s, lora_rank=16, dora=True)
    lm(model, b, s, lora_rank=16, dora=True, checkpointing=True)
    lm(model, b, s, lora_rank=16, dora=True, checkpointing=True, quantize="4bit")
# TRL's trainers; over the stub libraries.
for model, b, s in (("llama-3.2-1b", 2, 1024), ("qwen2.5-1.5b", 4, 1024)):
    lm(model, b, s, trl="sft")
    lm(model, b, s, trl="sft", checkpointing=True)
    for trl in ("sft", "dpo"):
        lm(model, b, s, trl=trl, lora_rank=16)
        lm(model, b, s, trl=trl, lora_rank=16, checkpointing=True)


if __name__ == "__main__":
    json.dump(list(LISTED.values()), sys.stdout, indent=0)
