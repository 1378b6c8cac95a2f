#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes samples/lora-7b-24g/trace-90817.jsonl: what the job of that sample asked of PyTorch's allocator, in whyoom's line form.

Every size follows from the shapes that the job's log prints: Qwen2.5-7B frozen in fp16, LoRA of rank 128 on q, v, o and on the MLP
of layers 8 to 27 in fp32 with gradients and two Adam moments, batch 2, checkpointing of whole layers without reentry, a vocabulary of
152064. The order is that of transformers 4.49 (the version whose lines the traceback names), PEFT and torch 2.6:

- forward under autocast, in which LoRA weights are cast once and kept until it ends; each layer leaves its output alone;
- the loss: fp16 logits, a fp32 copy, a copy without the last position, log_softmax; when it returns, the copies go, and accelerate
  makes a fp32 copy of the outputs, which goes with them;
- backward of these, each gradient in the shape of its value; then each layer again, from its input, and its backward;
- gradients of LoRA weights, born in the first pass of a step, added to in the later ones;
- the optimizer's step with the temporaries of its foreach form, and zero_grad, which frees the gradients.

The recording is the end of a ring: the last pass of a step over samples of 768 tokens with the optimizer's step, then the next
step's first pass of 768 tokens, then the pass of 2048 tokens that is refused 2.32 GiB for the fp32 logits with 21.03 GiB allocated.
Within a layer, blocks that are born and die together are written as one. The shapes account for some 20.3 of the 21.03 GiB; the rest
is a tensor that the script made before training and keeps. usage: make_lora_trace.py > trace-90817.jsonl
"""
import json

HIDDEN, KV, MLP, VOCAB, LAYERS, RANK, BATCH = 3584, 512, 18944, 152064, 28, 128, 2
SHORT, LONG = 768, 2048
ALLOCATED_AT_REFUSAL = 21.03
# What a layer saves for its backward, for each token: norms in fp32, projections, inputs of LoRA in fp32 with dropout and its mask;
# gate, up, their activation and product in fp16, the product in fp32 with the mask.
ATTENTION_BYTES, MLP_BYTES = (6 + 6 + 15 + 10) * HIDDEN + 4 * (HIDDEN + KV), 13 * MLP


def node(name):
    return (f"torch::autograd::generated::{name}Backward0::apply(", "??", 0)


def op(name):
    return (f"at::_ops::{name}::call(", "??", 0)


ENGINE = ("torch::autograd::Engine::thread_main(", "??", 0)
TRAIN = ("training_step", "transformers/trainer.py", 3698)
QWEN, LOSS = "transformers/models/qwen2/modeling_qwen2.py", "transformers/loss/loss_utils.py"
APPLY = ("_apply", "torch/nn/modules/module.py", 927)
STACKS = {
    "load": (op("empty_strided"), APPLY, ("from_pretrained", "transformers/modeling_utils.py", 4224)),
    "adapt": (op("empty_strided"), APPLY, ("get_peft_model", "peft/mapping.py", 222)),
    "script": (op("_to_copy"), ("main", "finetune_lora.py", 97)),
    "workspace": (("at::cuda::getCurrentCUDABlasHandle()", "??", 0), op("mm"), TRAIN),
    "batch": (op("_to_copy"), ("send_to_device", "accelerate/utils/operations.py", 155), TRAIN),
    "mask": (op("full"), ("_update_causal_mask", QWEN, 640), TRAIN),
    "embed": (op("embedding"), ("forward", QWEN, 540), TRAIN),
    "cast": (op("_to_copy"), op("linear"), ("forward", "peft/tuners/lora/layer.py", 621), TRAIN),
    "norm": (op("_to_copy"), ("forward", QWEN, 66), TRAIN),
    "product": (op("linear"), ("forward", QWEN, 48), TRAIN),
    "layer": (op("add_Tensor"), ("forward", QWEN, 264), TRAIN),
    "head": (op("mm"), ("forward", QWEN, 852), TRAIN),
    "upcast": (op("_to_copy"), ("ForCausalLMLoss", LOSS, 36), TRAIN),
    "shift": (op("contiguous"), ("ForCausalLMLoss", LOSS, 39), TRAIN),
    "softmax": (op("_log_softmax"), ("cross_entropy", "torch/nn/functional.py", 3479), ("ForCausalLMLoss", LOSS, 46), TRAIN),
    "outputs": (op("_to_copy"), ("convert_to_fp32", "accelerate/utils/operations.py", 787), TRAIN),
    "nll_back": (op("nll_loss_backward"), node("NllLoss"), ENGINE),
    "soft_back": (op("_log_softmax_backward_data"), node("LogSoftmax"), ENGINE),
    "slice_back": (op("slice_backward"), node("Slice"), ENGINE),
    "cast_back": (op("_to_copy"), node("ToCopy"), ENGINE),
    "mm_back": (op("mm"), node("Mm"), ENGINE),
    "norm_back": (op("mul_Tensor"), node("Mul"), ENGINE),
    "again": (op("mm"), ("recompute_fn", "torch/utils/checkpoint.py", 1399), ENGINE),
    "clip": (op("_foreach_norm_Scalar"), ("clip_grad_norm_", "torch/nn/utils/clip_grad.py", 220), TRAIN),
    "states": (op("zeros_like"), ("_init_group", "torch/optim/adamw.py", 130), ("step", "torch/optim/adamw.py", 212)),
    "step": (op("_foreach_sqrt"), ("_multi_tensor_adamw", "torch/optim/adamw.py", 604), ("step", "torch/optim/adamw.py", 220)),
}


class Recording:
    def __init__(self):
        self.lines, self.sizes, self.last = [], {}, 0
        self.emit(whyoom_trace=1, torch="2.6", settings="max_split_size_mb:128,expandable_segments:True")
        frames = {}
        for number, stack in enumerate(STACKS.values()):
            for frame in stack:
                if frame not in frames:
                    frames[frame] = len(frames)
                    self.emit(frame=frames[frame], function=frame[0], file=frame[1], line=frame[2])
            self.emit(stack=number, frames=[frames[frame] for frame in stack])
        self.stacks = {name: number for number, name in enumerate(STACKS)}

    def emit(self, **line):
        self.lines.append(json.dumps(line, separators=(",", ":")))

    def alloc(self, size, where):
        self.last += 1
        self.sizes[self.last] = (size + 511) // 512 * 512
        self.emit(alloc=size, id=self.last, stack=self.stacks[where])
        return self.last

    def free(self, *blocks):
        for block in blocks:
            self.emit(free=block)
            del self.sizes[block]

    def allocated(self):
        return sum(self.sizes.values())


def adapters_of(layer):
    pairs = [(HIDDEN, HIDDEN), (HIDDEN, KV), (HIDDEN, HIDDEN)]
    if layer >= 8:
        pairs += [(HIDDEN, MLP), (HIDDEN, MLP), (MLP, HIDDEN)]
    return [RANK * side for pair in pairs for side in pair]


def build(run, kept_bytes):
    """What is there before the recording begins: the model, what the script keeps, gradients of earlier passes, Adam's moments."""
    run.alloc(VOCAB * HIDDEN * 2, "load")
    for _ in range(LAYERS):
        for count in (HIDDEN * HIDDEN, HIDDEN * KV, HIDDEN * KV, HIDDEN * HIDDEN, HIDDEN * MLP, HIDDEN * MLP, HIDDEN * MLP,
                      HIDDEN, KV, KV, HIDDEN, HIDDEN):
            run.alloc(count * 2, "load")
    run.alloc(HIDDEN * 2, "load")
    run.alloc(VOCAB * HIDDEN * 2, "load")
    weights = [count for layer in range(LAYERS) for count in adapters_of(layer)]
    for count in weights:
        run.alloc(4 * count, "adapt")
    run.alloc(8519680, "workspace")
    run.alloc(kept_bytes, "script")
    gradients = [run.alloc(4 * count, "cast_back") for layer in reversed(range(LAYERS)) for count in reversed(adapters_of(layer))]
    for count in weights:
        run.alloc(4 * count, "states")
        run.alloc(4 * count, "states")
    return gradients


class Pass:
    """One forward and backward over BATCH samples of some length."""

    def __init__(self, run, length):
        self.run, self.length, self.tokens = run, length, BATCH * length

    def make(self, count, width, where):
        return self.run.alloc(self.tokens * count * width, where)

    def forward(self):
        run = self.run
        self.inputs = [self.make(1, 8, "batch") for _ in range(3)] + [self.make(self.length, 2, "mask")]
        self.layer_inputs, self.casts = [self.make(HIDDEN, 2, "embed")], []
        for layer in range(LAYERS):
            self.casts.append(run.alloc(2 * sum(adapters_of(layer)), "cast"))
            run.free(self.make(ATTENTION_BYTES, 1, "product"))
            run.free(self.make(MLP_BYTES, 1, "product"))
            self.layer_inputs.append(self.make(HIDDEN, 2, "layer"))
        self.normed = [self.make(HIDDEN, width, "norm") for width in (4, 4, 2, 2)]
        self.logits = self.make(VOCAB, 2, "head")

    def loss(self):
        run, shifted_bytes = self.run, BATCH * (self.length - 1) * VOCAB * 4
        floats = self.make(VOCAB, 4, "upcast")
        shifted = run.alloc(shifted_bytes, "shift")
        self.log_softmax = run.alloc(shifted_bytes, "softmax")
        run.free(shifted, floats, *self.casts)
        outputs = self.make(VOCAB, 4, "outputs")
        run.free(self.logits, outputs)

    def loss_backward(self):
        run, shifted_bytes = self.run, BATCH * (self.length - 1) * VOCAB * 4
        of_softmax = run.alloc(shifted_bytes, "nll_back")
        of_shifted = run.alloc(shifted_bytes, "soft_back")
        run.free(of_softmax, self.log_softmax)
        of_floats = self.make(VOCAB, 4, "slice_back")
        run.free(of_shifted)
        of_logits = self.make(VOCAB, 2, "cast_back")
        run.free(of_floats)
        of_hidden = self.make(HIDDEN, 2, "mm_back")
        run.free(of_logits)
        wide = [self.make(HIDDEN, 4, "norm_back"), self.make(HIDDEN, 4, "norm_back")]
        run.free(*wide, *self.normed)
        return of_hidden

    def backward(self, is_first):
        run, gradients = self.run, []
        of_output = self.loss_backward()
        for layer in reversed(range(LAYERS)):
            saved = [run.alloc(2 * sum(adapters_of(layer)), "again"), self.make(ATTENTION_BYTES, 1, "again"),
                     self.make(MLP_BYTES, 1, "again")]
            wide = self.make(MLP, 6, "mm_back")
            for count in reversed(adapters_of(layer)):
                gradient = run.alloc(4 * count, "cast_back")
                if is_first:
                    gradients.append(gradient)
                else:
                    run.free(gradient)
            of_input = self.make(HIDDEN, 2, "mm_back")
            run.free(wide, *saved, of_output, self.layer_inputs.pop())
            of_output = of_input
        run.free(of_output, self.layer_inputs.pop(), *self.inputs)
        return gradients


def step(run, gradients):
    sizes = [4 * count for layer in range(LAYERS) for count in adapters_of(layer)]
    norms = [run.alloc(4 * len(sizes), "clip"), run.alloc(4 * len(sizes), "clip")]
    run.free(*norms)
    run.free(*[run.alloc(size, "step") for size in sizes])
    run.free(*gradients)


def whole(kept_bytes):
    run = Recording()
    gradients = build(run, kept_bytes)
    last = Pass(run, SHORT)
    last.forward()
    last.loss()
    last.backward(is_first=False)
    step(run, gradients)
    first = Pass(run, SHORT)
    first.forward()
    first.loss()
    first.backward(is_first=True)
    Pass(run, LONG).forward()
    return run


def main():
    kept_bytes = int(ALLOCATED_AT_REFUSAL * 2**30) - whole(0).allocated()
    assert kept_bytes > 0
    run = whole(kept_bytes // 512 * 512)
    run.emit(oom=BATCH * LONG * VOCAB * 4, device_free=1664299827, stack=run.stacks["upcast"])
    print("\n".join(run.lines))


if __name__ == "__main__":
    main()
