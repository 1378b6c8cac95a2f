#!/usr/bin/env python3
"""One real training run of a small model, recorded: a memory snapshot and what PyTorch counted.

usage: train.py --out DIR [--model gpt|conv] [--micro-batch N] [--length N] [--steps N] [--stacks python|all]
                [--limit BYTES]

Writes DIR/trace.pickle and DIR/run.json. The recording begins before the model is made, so that it begins with an empty allocator.
--limit caps the allocator with set_per_process_memory_fraction; a run that then fails is a result. Allocator settings come from
PYTORCH_CUDA_ALLOC_CONF, which the caller sets. Exit status 0 also when memory ran out; 77 without a GPU.
"""
import argparse
import json
import os
import sys
import time

VOCABULARY = 32000
WIDTH = 1024
LAYERS = 8
HEADS = 16


def make_gpt(torch, length):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1 = nn.LayerNorm(WIDTH)
            self.norm_2 = nn.LayerNorm(WIDTH)
            self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Linear(WIDTH, WIDTH)
            self.up = nn.Linear(WIDTH, 4 * WIDTH)
            self.down = nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            batch, count, _ = x.shape
            parts = self.qkv(self.norm_1(x)).view(batch, count, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            mixed = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, count, WIDTH))
            return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, WIDTH)
            self.places = nn.Parameter(torch.zeros(length, WIDTH))
            self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, ids):
            x = self.tokens(ids) + self.places
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    def batch(count):
        ids = torch.randint(0, VOCABULARY, (count, length + 1), device="cuda")
        return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def loss(output, target):
        return nn.functional.cross_entropy(output.view(-1, VOCABULARY).float(), target.view(-1))

    return Gpt, batch, loss


def make_conv(torch, length):
    nn = torch.nn

    def stage(before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
                             nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.stages = nn.Sequential(stage(3, 64), stage(64, 128), stage(128, 256), stage(256, 512))
            self.head = nn.Linear(512, 1000)

        def forward(self, x):
            return self.head(self.stages(x).mean(dim=(2, 3)))

    def batch(count):
        return torch.randn(count, 3, length, length, device="cuda"), torch.randint(0, 1000, (count,), device="cuda")

    return Conv, batch, nn.functional.cross_entropy


def train(torch, args):
    """Runs the steps."""
    make = make_gpt if args.model == "gpt" else make_conv
    kind, batch, loss = make(torch, args.length)
    model = kind().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(args.steps):
        data, target = batch(args.micro_batch)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            value = loss(model(data), target)
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()


def limit_memory(torch, limit_bytes):
    """Caps the allocator (0: as the card is) and returns the card's bytes."""
    total = torch.cuda.get_device_properties(0).total_memory
    if limit_bytes:
        torch.cuda.set_per_process_memory_fraction(limit_bytes / total)
    return total


def begin_recording(torch, stacks):
    torch.cuda.memory._record_memory_history(max_entries=1000000, stacks=stacks)


def record(torch, args, body, begins_now=True):
    """Runs body() with the recording on and writes trace.pickle and run.json into args.out. A request that fails is a result; `begins_now` false
    leaves the beginning to the body. args: out, limit, stacks and what else describes the run."""
    os.makedirs(args.out, exist_ok=True)
    torch.manual_seed(1)
    total = limit_memory(torch, args.limit)
    if begins_now:
        begin_recording(torch, args.stacks)
    begin = time.monotonic()
    failed = None
    try:
        body()
    except torch.cuda.OutOfMemoryError as error:
        failed = str(error)
    seconds = time.monotonic() - begin
    torch.cuda.memory._dump_snapshot(os.path.join(args.out, "trace.pickle"))
    free, _ = torch.cuda.mem_get_info()
    run = {
        **{key: value for key, value in vars(args).items() if key not in ("out", "limit")},
        "settings": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""), "limit_bytes": args.limit or None,
        "torch": torch.__version__, "cuda": torch.version.cuda, "gpu": torch.cuda.get_device_name(0),
        "total_bytes": total, "free_at_end_bytes": free, "seconds": seconds, "failed": failed,
        "stats": {key: value for key, value in torch.cuda.memory_stats().items() if isinstance(value, int)},
    }
    with open(os.path.join(args.out, "run.json"), "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1, sort_keys=True)


def main():
    parser = argparse.ArgumentParser()
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--out")
    kind.add_argument("--plain", action="store_true")
    parser.add_argument("--model", choices=("gpt", "conv"), default="gpt")
    parser.add_argument("--micro-batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=512, help="tokens, or the side of an image")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--stacks", choices=("python", "all"), default="all")
    parser.add_argument("--limit", type=int, default=0, help="bytes that the allocator may take")
    args = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("skipped: torch is not installed")
        return 77
    if not torch.cuda.is_available():
        print("skipped: torch sees no GPU")
        return 77
    if args.plain:
        limit_memory(torch, args.limit)
        train(torch, args)
    else:
        del args.plain
        record(torch, args, lambda: train(torch, args))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
