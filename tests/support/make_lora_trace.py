#!/usr/bin/env python3
"""Writes samples/lora-7b-24g/trace-90817.jsonl: what the job of that sample asked of PyTorch's allocator, in whyoom's line form.

Every size follows from the shapes that the job's log prints: Qwen2.5-7B frozen in fp16, LoRA of rank 128 on q, v, o and on the MLP
of layers 8 to 27 in fp32 with gradients and two Adam moments, batch 2, checkpointing of whole layers, a vocabulary of 152064.
First one whole pass over samples of 768 tokens, then the pass of 2048 tokens that is refused 2.32 GiB for the fp32 logits, with
21.03 GiB allocated. usage: make_lora_trace.py > trace-90817.jsonl
"""
import json

HIDDEN, KV, MLP, VOCAB, LAYERS, RANK, BATCH = 3584, 512, 18944, 152064, 28, 128, 2
OUT, live, sizes = [], 0, {}
FRAMES, STACKS = {}, {}


def emit(**line):
    OUT.append(json.dumps(line))


def stack(*frames):
    if frames not in STACKS:
        for frame in frames:
            if frame not in FRAMES:
                FRAMES[frame] = len(FRAMES)
                emit(frame=FRAMES[frame], function=frame[0], file=frame[1], line=frame[2])
        STACKS[frames] = len(STACKS)
        emit(stack=STACKS[frames], frames=[FRAMES[f] for f in frames])
    return STACKS[frames]


def alloc(size, where):
    global live
    live += 1
    sizes[live] = size
    emit(alloc=size, id=live, stack=where)
    return live


def free(block):
    emit(free=block)
    del sizes[block]


def op(name):
    return (f"at::_ops::{name}::call(", "??", 0)


def node(name):
    return (f"torch::autograd::generated::{name}Backward0::apply(", "??", 0)


ENGINE = ("torch::autograd::Engine::thread_main(", "??", 0)
TRAIN = ("training_step", "transformers/trainer.py", 3698)
emit(whyoom_trace=1, torch="2.6", settings="max_split_size_mb:128,expandable_segments:True")
load = stack(op("empty_strided"), ("_apply", "torch/nn/modules/module.py", 927), ("from_pretrained", "transformers/modeling_utils.py", 4224))
adapt = stack(op("empty_strided"), ("_apply", "torch/nn/modules/module.py", 927), ("get_peft_model", "peft/mapping.py", 222))
step = stack(op("zeros_like"), ("_init_group", "torch/optim/adamw.py", 130), ("step", "torch/optim/adamw.py", 212))
layer = stack(op("add_Tensor"), ("forward", "transformers/models/qwen2/modeling_qwen2.py", 264), TRAIN)
norm = stack(op("_to_copy"), ("forward", "transformers/models/qwen2/modeling_qwen2.py", 66), TRAIN)
embed = stack(op("embedding"), ("forward", "transformers/models/qwen2/modeling_qwen2.py", 540), TRAIN)
head = stack(op("mm"), ("forward", "transformers/models/qwen2/modeling_qwen2.py", 856), TRAIN)
shift = stack(op("contiguous"), ("ForCausalLMLoss", "transformers/loss/loss_utils.py", 41), TRAIN)
upcast = stack(op("_to_copy"), ("ForCausalLMLoss", "transformers/loss/loss_utils.py", 38), TRAIN)
softmax = stack(op("_log_softmax"), ("cross_entropy", "torch/nn/functional.py", 3479), TRAIN)
soft_back = stack(op("_log_softmax_backward_data"), node("LogSoftmax"), ENGINE)
cast_back = stack(op("_to_copy"), node("ToCopy"), ENGINE)
mm_back = stack(op("mm"), node("Mm"), ENGINE)
again = stack(op("mm"), ("recompute_fn", "torch/utils/checkpoint.py", 1399), ENGINE)
workspace = stack(("at::cuda::getCurrentCUDABlasHandle()", "??", 0), op("mm"), TRAIN)
batch = stack(op("_to_copy"), ("send_to_device", "accelerate/utils/operations.py", 155), TRAIN)
mask = stack(op("full"), ("_update_causal_mask", "transformers/models/qwen2/modeling_qwen2.py", 640), TRAIN)

alloc(VOCAB * HIDDEN * 2, load)
for _ in range(LAYERS):
    for count in (HIDDEN * HIDDEN, HIDDEN * KV, HIDDEN * KV, HIDDEN * HIDDEN, 3 * [HIDDEN * MLP], HIDDEN, KV, KV, HIDDEN, HIDDEN):
        for one in count if isinstance(count, list) else [count]:
            alloc(one * 2, load)
alloc(HIDDEN * 2, load)
alloc(VOCAB * HIDDEN * 2, load)
adapters = []
for i in range(LAYERS):
    pairs = [(HIDDEN, HIDDEN), (HIDDEN, KV), (HIDDEN, HIDDEN)] + ([(HIDDEN, MLP), (HIDDEN, MLP), (MLP, HIDDEN)] if i >= 8 else [])
    for a, b in pairs:
        adapters += [4 * RANK * a, 4 * RANK * b]
for size in adapters:
    alloc(size, adapt)
alloc(8519680, workspace)


def forward(length):
    tokens = BATCH * length
    kept = [alloc(tokens * 8, batch), alloc(tokens * 8, batch)]
    kept.append(alloc(tokens * length * 2, mask))
    kept.append(alloc(tokens * HIDDEN * 2, embed))
    kept += [alloc(tokens * HIDDEN * 2, layer) for _ in range(LAYERS)]
    kept += [alloc(tokens * HIDDEN * 4, norm), alloc(tokens * HIDDEN * 4, norm), alloc(tokens * HIDDEN * 2, norm)]
    logits = alloc(tokens * VOCAB * 2, head)
    shifted = alloc(BATCH * (length - 1) * VOCAB * 2, shift)
    return kept, logits, shifted


def backward(length, kept, logits, shifted, is_first):
    wide = BATCH * (length - 1) * VOCAB * 4
    floats = alloc(wide, upcast)
    free(shifted)
    probabilities = alloc(wide, softmax)
    gradient = alloc(wide, soft_back)
    free(probabilities)
    free(floats)
    half = alloc(wide // 2, cast_back)
    free(gradient)
    free(logits)
    hidden = alloc(BATCH * length * HIDDEN * 2, mm_back)
    free(half)
    for at in range(LAYERS - 1, -1, -1):
        recomputed = [alloc(BATCH * length * HIDDEN * 2, again) for _ in range(4)] + [alloc(BATCH * length * MLP * 2, again) for _ in range(3)]
        made = 12 if at >= 8 else 6
        for size in reversed(adapters[-made:]) if is_first else []:
            alloc(size, mm_back)
        if is_first:
            del adapters[-made:]
        for block in recomputed:
            free(block)
    free(hidden)
    for block in kept:
        free(block)


all_adapters = list(adapters)
backward(768, *forward(768), True)
for size in all_adapters:
    alloc(size, step)
    alloc(size, step)
backward_ready = forward(2048)
emit(oom=(BATCH * 2047 * VOCAB * 4 + 511) // 512 * 512, device_free=1664299827, stack=upcast)
print("\n".join(OUT))
