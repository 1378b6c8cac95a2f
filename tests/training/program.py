#!/usr/bin/env python3
"""One training run, in one of many variants, recorded: real torch, on a GPU or over the stub libraries beside this file.

usage: program.py --out DIR [--model gpt|llama|conv|varying|growing|encdec|vit|clip|vlm|experts|unet] [--micro-batch N] [--length N] [--width N]
                  [--layers N] [--vocabulary N] [--image N] [--steps N] [--accumulate N] [--shard N] [--offload-optimizer]
                  [--leak graph|outputs] [--evaluate N] [--generate N] [--compile] [--init cpu|cuda]
                  [--optimizer adamw|sgd|momentum|adam-single|adamw-fused] [--dtype autocast|bf16|fp32]
                  [--attention fused|written] [--checkpoint] [--lora RANK] [--loss-parts N] [--keep-gradients] [--clip] [--empty-cache]
                  [--stacks python|all] [--from-step N] [--limit BYTES]

--evaluate N runs a batch of N without gradients after every second step, --generate N makes N tokens one by one there; --leak keeps the graph
or the outputs of every step. Writes DIR/trace.pickle and DIR/run.json, as tests/gpu/train.py does. --from-step N begins to record before step N (0: before the model
is made), and then resets the peaks. Nothing here looks at a value, so that a runtime that computes nothing runs it as well.

       program.py --many FILE    one run for each line of arguments, each in a process of its own that is forked behind the import of torch
"""
import argparse
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "gpu"))
import models  # noqa: E402
import train  # noqa: E402

HEAD_WIDTH = 64


def attention(torch, query, key, value, kind):
    if kind == "fused":
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    length = query.shape[-2]
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
    weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
    return weights.to(value.dtype) @ value


def linear(torch, args, before, after, bias=False):
    """A projection, with an adapter of low rank beside it where that is asked for."""
    nn = torch.nn
    plain = nn.Linear(before, after, bias=bias)
    if not args.lora:
        return plain

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = plain.requires_grad_(False)
            self.down = nn.Linear(before, args.lora, bias=False)
            self.up = nn.Linear(args.lora, after, bias=False)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    return Adapted()


def make_block(torch, args):
    """One layer: GPT's (LayerNorm, GELU, biases) or Llama's (RMSNorm, rotary positions, grouped keys, gated units)."""
    nn, width, heads = torch.nn, args.width, args.width // HEAD_WIDTH

    class GptBlock(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = linear(torch, args, width, 3 * width, True), linear(torch, args, width, width, True)
            self.up, self.down = linear(torch, args, width, 4 * width, True), linear(torch, args, 4 * width, width, True)

        def forward(self, x):
            batch, count, _ = x.shape
            parts = self.qkv(self.norm_1(x)).view(batch, count, 3, heads, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
            mixed = attention(torch, parts[0], parts[1], parts[2], args.attention)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, count, width))
            return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))

    class RootNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            high = x.float()
            return self.weight * (high * torch.rsqrt(high.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    groups = max(1, heads // 4)
    inner = width * 8 // 3 // 256 * 256 or width

    def rotate(x, cosine, sine):
        left, right = x.chunk(2, dim=-1)
        return x * cosine + torch.cat((-right, left), dim=-1) * sine

    class LlamaBlock(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = RootNorm(), RootNorm()
            self.query, self.out = linear(torch, args, width, width), linear(torch, args, width, width)
            self.key, self.value = (linear(torch, args, width, groups * HEAD_WIDTH) for _ in range(2))
            self.gate, self.up = linear(torch, args, width, inner), linear(torch, args, width, inner)
            self.down = linear(torch, args, inner, width)

        def forward(self, x):
            batch, count, _ = x.shape
            h = self.norm_1(x)
            angles = torch.outer(torch.arange(count, device=x.device).float(),
                                 1e4 ** (-torch.arange(0, HEAD_WIDTH, 2, device=x.device).float() / HEAD_WIDTH))
            angles = torch.cat((angles, angles), dim=-1)
            cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
            query, key, value = (part(h).view(batch, count, -1, HEAD_WIDTH).transpose(1, 2)
                                 for part in (self.query, self.key, self.value))
            query, key = rotate(query, cosine, sine), rotate(key, cosine, sine)
            key, value = (part.repeat_interleave(heads // groups, dim=1) for part in (key, value))
            mixed = attention(torch, query, key, value, args.attention)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, count, width))
            h = self.norm_2(x)
            return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))

    return LlamaBlock if args.model == "llama" else GptBlock


def make_language_model(torch, args):
    nn = torch.nn
    block = make_block(torch, args)

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(args.vocabulary, args.width)
            self.blocks = nn.ModuleList(block() for _ in range(args.layers))
            self.norm = nn.LayerNorm(args.width)
            self.head = nn.Linear(args.width, args.vocabulary, bias=False)
            if args.lora:
                for part in (self.tokens, self.norm, self.head):
                    part.requires_grad_(False)

        def forward(self, ids):
            x = self.tokens(ids)
            if args.lora and args.checkpoint:
                x.requires_grad_(True)
            for layer in self.blocks:
                if args.checkpoint:
                    x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
                else:
                    x = layer(x)
            return self.norm(x)

    def batch(count, length):
        ids = torch.randint(0, args.vocabulary, (count, length + 1), device="cuda")
        return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def loss(model, data, target):
        hidden = model(data).view(-1, args.width)
        if args.loss_parts == 1:
            return nn.functional.cross_entropy(model.head(hidden).float(), target.view(-1))

        def part(rows, ids):
            return nn.functional.cross_entropy(model.head(rows).float(), ids, reduction="sum")

        pieces = zip(hidden.chunk(args.loss_parts), target.view(-1).chunk(args.loss_parts))
        return sum(torch.utils.checkpoint.checkpoint(part, rows, ids, use_reentrant=False) for rows, ids in pieces) / hidden.shape[0]

    return LanguageModel, batch, loss


def make_conv(torch, args):
    kind, batch, loss = train.make_conv(torch, args.length)
    return kind, lambda count, length: batch(count), lambda model, data, target: loss(model(data), target)


def make_optimizer(torch, args, parameters):
    kinds = {"adamw": lambda: torch.optim.AdamW(parameters, lr=1e-4),
             "adamw-single": lambda: torch.optim.AdamW(parameters, lr=1e-4, foreach=False),
             "adamw-fused": lambda: torch.optim.AdamW(parameters, lr=1e-4, fused=True),
             "sgd": lambda: torch.optim.SGD(parameters, lr=1e-4),
             "momentum": lambda: torch.optim.SGD(parameters, lr=1e-4, momentum=0.9)}
    return kinds[args.optimizer]()


def lengths_of(args):
    """Of every step; a varying program has others in each, the longest in the middle, and a growing one longer ones."""
    if args.model == "growing":
        return [max(16, args.length * (step + 1) // args.steps // 16 * 16) for step in range(args.steps)]
    if args.model != "varying":
        return [args.length] * args.steps
    shares = (5, 11, 3, 16, 7, 13, 2, 9, 15, 4, 12, 6)
    return [max(16, args.length * shares[step % len(shares)] // 16) for step in range(args.steps)]


def shard(torch, args, model):
    """Sharded over so many GPUs, of which this is the first: the others are not there, and nothing is sent to them."""
    from torch.distributed.fsdp import fully_shard
    from torch.testing._internal.distributed.fake_pg import FakeStore
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=args.shard)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)


class OffloadedStep:
    """An optimizer whose parameters and states are on the CPU; gradients go there, parameters come back."""

    def __init__(self, torch, args, parameters):
        self.there = parameters
        self.here = [p.detach().cpu().requires_grad_(True) for p in parameters]
        self.optimizer = make_optimizer(torch, args, self.here)

    def step(self):
        for here, there in zip(self.here, self.there):
            here.grad = there.grad.cpu()
        self.optimizer.step()
        for here, there in zip(self.here, self.there):
            there.data.copy_(here.detach())

    def zero_grad(self, set_to_none):
        for there in self.there:
            there.grad = None if set_to_none else there.grad.zero_()


def make_model(torch, args, kind):
    dtype = torch.bfloat16 if args.dtype == "bf16" else torch.float32
    if args.init == "cpu":
        return kind().to("cuda", dtype)
    with torch.device("cuda"):
        return kind().to(dtype)


def evaluate(torch, args, model, batch, loss):
    """A pass without gradients, with a batch of its own."""
    data, target = batch(args.evaluate, args.length)
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.dtype == "autocast"):
        loss(model, data, target)


def generate(torch, args, model):
    """Tokens one by one: all that are there go through the model, and their features are joined, as a cache of keys is."""
    ids = torch.randint(0, args.vocabulary, (args.micro_batch, 16), device="cuda")
    kept = None
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.dtype == "autocast"):
        for _ in range(args.generate):
            hidden = model(ids)
            kept = hidden[:, -1:] if kept is None else torch.cat((kept, hidden[:, -1:]), dim=1)
            ids = torch.cat((ids, model.head(hidden[:, -1]).argmax(-1, keepdim=True).clamp(0, 1)), dim=1)


def keep(torch, args, value, data, kept):
    """What a program with a leak keeps of every pass."""
    if args.leak == "graph":
        kept.append(value)
    if args.leak == "outputs":
        kept.append(torch.empty((*data.shape, args.width), device="cuda"))


def run_steps(torch, args, parts, before_step):
    kind, batch, loss = parts
    kept = []
    model = make_model(torch, args, kind)
    if args.compile:
        model.compile(backend="aot_eager")
    if args.shard:
        shard(torch, args, model)
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = OffloadedStep(torch, args, parameters) if args.offload_optimizer else make_optimizer(torch, args, parameters)
    for step, length in enumerate(lengths_of(args)):
        before_step(step)
        for _ in range(args.accumulate):
            data, target = batch(args.micro_batch, length)
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.dtype == "autocast"):
                value = loss(model, data, target)
            value.backward(retain_graph=args.leak == "graph")
            keep(torch, args, value, data, kept)
            del value
        if args.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=not args.keep_gradients)
        if args.empty_cache:
            torch.cuda.empty_cache()
        if args.evaluate and step % 2 == 1:
            evaluate(torch, args, model, batch, loss)
        if args.generate and step % 2 == 1:
            generate(torch, args, model)


def make_parts(torch, args):
    if args.model == "conv":
        return make_conv(torch, args)
    return models.MAKERS.get(args.model, make_language_model)(torch, args)


def parse(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--model", choices=("gpt", "llama", "conv", "varying", "growing", *models.MAKERS), default="gpt")
    for name, value in (("micro-batch", 4), ("length", 512), ("width", 1024), ("layers", 8), ("vocabulary", 32000), ("steps", 4),
                        ("accumulate", 1), ("shard", 0), ("lora", 0), ("loss-parts", 1), ("from-step", 0), ("limit", 0), ("image", 224), ("evaluate", 0), ("generate", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--optimizer", choices=("adamw", "adamw-single", "adamw-fused", "sgd", "momentum"), default="adamw")
    parser.add_argument("--dtype", choices=("autocast", "bf16", "fp32"), default="autocast")
    parser.add_argument("--attention", choices=("fused", "written"), default="fused")
    parser.add_argument("--stacks", choices=("python", "all"), default="all")
    parser.add_argument("--leak", choices=("graph", "outputs"))
    parser.add_argument("--init", choices=("cpu", "cuda"), default="cpu")
    for name in ("checkpoint", "offload-optimizer", "keep-gradients", "clip", "empty-cache", "compile"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args(words)


def run(torch, args):
    parts = make_parts(torch, args)

    def before_step(step):
        if step == args.from_step > 0:
            torch.cuda.reset_peak_memory_stats()
            train.begin_recording(torch, args.stacks)

    train.record(torch, args, lambda: run_steps(torch, args, parts, before_step), begins_now=args.from_step == 0)


def run_many(torch, path):
    """The number of runs that failed otherwise than for memory."""
    failed = 0
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file]
    for words in lines:
        args = parse(words)
        child = os.fork()
        if child == 0:
            try:
                run(torch, args)
                sys.stdout.flush()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        failed += status != 0
        print(f"{args.out}: exit status {status}", flush=True)
    return failed


def main():
    many = sys.argv[2] if len(sys.argv) == 3 and sys.argv[1] == "--many" else None
    args = None if many else parse(sys.argv[1:])
    try:
        import torch
    except ImportError:
        print("skipped: torch is not installed")
        return 77
    import torch.utils.checkpoint
    if many:
        return int(run_many(torch, many) > 0)
    if not torch.cuda.is_available():
        print("skipped: torch sees no GPU")
        return 77
    run(torch, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
