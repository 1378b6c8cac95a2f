"""What is run and what is predicted from what: data for `run`.

RUNS: name -> (allocator settings, arguments of program.py). PREDICTIONS: (group, from, to, options of `whyoom replay`); the peak that the
options predict from the recording of `from` is compared with the peak that `to` really had.
"""

RUNS = {}
PREDICTIONS = []


def add_run(name, arguments, settings=""):
    RUNS[name] = (settings, arguments)
    return name


def predict(group, source, target, *options):
    PREDICTIONS.append((group, source, target, list(options)))


def add_sizes(group, arguments, batches, lengths, settings="", sources=None):
    """A grid of sizes; every size is predicted from every other along one axis, and with both at once from the smallest."""
    def name(batch, length):
        return f"{group}-{batch}x{length}"

    for length in lengths:
        for batch in batches:
            add_run(name(batch, length), f"{arguments} --micro-batch {batch} --length {length}", settings)
    for length in lengths:
        for a in batches:
            for b in batches:
                if a != b:
                    predict(group, name(a, length), name(b, length), "--scale", f"micro_batch={a}:{b}")
    for batch in batches:
        for a in lengths:
            for b in lengths:
                if a != b:
                    predict(group, name(batch, a), name(batch, b), "--scale", f"seq_len={a}:{b}")
                    other = batches[0] if batch != batches[0] else batches[-1]
                    predict(group, name(batch, a), name(other, b), "--scale", f"micro_batch={batch}:{other},seq_len={a}:{b}")


# Sizes. The whole program is recorded, or two steps in the middle of it.
add_sizes("gpt", "--model gpt", (1, 2, 4, 8), (512, 1024))
add_sizes("gpt-steady", "--model gpt --from-step 2", (2, 4, 8), (512, 1024))
add_sizes("gpt-python", "--model gpt --stacks python", (2, 4, 8), (512, 1024))
add_sizes("gpt-written", "--model gpt --attention written --dtype fp32 --layers 6", (2, 4, 8), (256, 768))
add_sizes("gpt-expandable", "--model gpt", (2, 8), (512, 1024), "expandable_segments:True")
add_sizes("llama", "--model llama --dtype bf16 --layers 8", (2, 4, 8), (512, 1280))
add_sizes("llama-written", "--model llama --attention written --layers 4", (2, 4), (512, 1280))
add_sizes("llama-lora", "--model llama --dtype bf16 --lora 16 --layers 8", (2, 4, 8), (512, 1024))
add_sizes("llama-checkpoint", "--model llama --dtype bf16 --checkpoint --layers 8", (2, 4, 8), (512, 1024))
add_sizes("llama-lora-checkpoint", "--model llama --dtype bf16 --lora 16 --checkpoint --layers 8 --from-step 1", (2, 8), (1024, 2048))
add_sizes("gpt-accumulate", "--model gpt --accumulate 2", (2, 4), (512, 1024))
add_sizes("large", "--model gpt --width 1536 --layers 24 --vocabulary 50304 --steps 3", (2, 4, 8), (1024, 2048))
add_sizes("conv", "--model conv --dtype fp32", (2, 4, 8, 16), (256,))
add_sizes("varying", "--model varying --steps 12", (2, 4, 8), (1024,))
add_sizes("varying-expandable", "--model varying --steps 12", (2, 4, 8), (1024,), "expandable_segments:True")

# Other programs, as `whyoom record` records them (Python's stacks), whole or from the third step on.
for label, arguments, batches, length in (
        ("encdec", "--model encdec", (2, 6), 512), ("vit", "--model vit", (16, 48), 224), ("clip", "--model clip", (16, 48), 224),
        ("vlm", "--model vlm", (2, 6), 1024), ("experts", "--model experts", (2, 6), 512), ("unet", "--model unet --image 256 --dtype fp32", (2, 6), 256),
        ("deep", "--model gpt --width 512 --layers 24", (3, 12), 384), ("momentum", "--model gpt --optimizer momentum --clip --keep-gradients", (3, 6), 640),
        ("halves", "--model llama --dtype bf16 --layers 6", (3, 6), 896), ("adapters", "--model llama --dtype bf16 --lora 16 --layers 8", (3, 6), 896),
        ("recomputed", "--model llama --dtype bf16 --checkpoint --layers 8", (3, 12), 1280)):
    for mode, words in (("python", ""), ("late", " --from-step 2")):
        add_sizes(f"{label}-{mode}", f"--init cuda {arguments} --stacks python{words}", batches, (length,))

# A second recording tells how sizes grow (@ names the run of a recording).
for group in ("gpt", "gpt-steady", "gpt-python", "llama-lora"):
    length = 1024
    for a, b, pair in ((2, 8, 4), (8, 2, 4), (4, 8, 2)):
        predict("pair", f"{group}-{a}x{length}", f"{group}-{b}x{length}", "--scale", f"micro_batch={a}:{b}", "--pair",
                f"@{group}-{pair}x{length}")

# Transforms: a program before and after.
for label, arguments in (("gpt", "--model gpt --micro-batch 8"), ("llama", "--model llama --dtype bf16 --micro-batch 8 --length 1024"),
                         ("written", "--model gpt --attention written --micro-batch 8"),
                         ("large", "--model gpt --width 1536 --layers 24 --vocabulary 50304 --steps 3 --micro-batch 4 --length 1024")):
    base = add_run(f"t-{label}", arguments)
    predict("checkpoint", base, add_run(f"t-{label}-checkpoint", arguments + " --checkpoint"), "--transform", "checkpoint")
    predict("accumulate", base, add_run(f"t-{label}-accumulate", arguments + " --accumulate 2"), "--transform", "accumulate=2")
    predict("offload-optimizer", base, add_run(f"t-{label}-offload", arguments + " --offload-optimizer"), "--transform", "offload-optimizer")
    predict("shard", base, add_run(f"t-{label}-shard", arguments + " --shard 8"), "--transform", "shard=8")
    predict("empty-cache", base, add_run(f"t-{label}-empty", arguments + " --empty-cache"), "--transform", "empty-cache")
for settings in ("expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:4"):
    for label, arguments in (("gpt", "--model gpt --micro-batch 8"), ("varying", "--model varying --steps 12 --micro-batch 8 --length 1024"),
                             ("llama", "--model llama --dtype bf16 --micro-batch 8 --length 1024")):
        base = add_run(f"t-{label}", arguments)
        predict("settings", base, add_run(f"t-{label}-{settings.split(':')[0]}", arguments, settings), "--set", settings)

# Runs that fail: the same with a part of what it needs, in percent; and what is predicted from such a recording, which ends where memory did.
FAILURES = {}


def add_failure(base, percent):
    name = f"{base}-at-{percent}"
    FAILURES[name] = (base, percent)
    return name


for base in ("gpt-8x1024", "gpt-written-8x768", "gpt-expandable-8x1024", "llama-8x1280", "llama-lora-8x1024",
             "llama-checkpoint-8x1024", "conv-16x256", "large-4x2048", "varying-8x1024", "varying-expandable-8x1024", "t-gpt-max_split_size_mb"):
    for percent in (60, 80, 96):
        add_failure(base, percent)
for base, target, scale in (("gpt-8x1024", "gpt-4x1024", "micro_batch=8:4"), ("llama-8x1280", "llama-4x1280", "micro_batch=8:4"),
                            ("llama-lora-8x1024", "llama-lora-4x1024", "micro_batch=8:4"),
                            ("large-4x2048", "large-2x2048", "micro_batch=4:2"), ("gpt-written-8x768", "gpt-written-4x768", "micro_batch=8:4")):
    predict("from a failed run", f"{base}-at-96", target, "--scale", scale)

# Small ones that are kept in cases/ with what they really took: (group, from, to, options) as above, and by how many percent reserved and
# allocated may be off.
CASES = []
SMALL = "--width 256 --vocabulary 4096 --layers 2 --steps 2"


def add_case(source, target, reserved_pct, allocated_pct, *options):
    CASES.append((source, target, reserved_pct, allocated_pct, list(options)))


for label, arguments in (("gpt", f"--model gpt {SMALL}"), ("python", f"--model gpt --stacks python {SMALL}"),
                         ("llama", f"--model llama --dtype bf16 --lora 8 {SMALL}"), ("written", f"--model gpt --attention written --dtype fp32 {SMALL}")):
    for size in ((2, 128), (4, 128), (2, 192)):
        add_run(f"case-{label}-{size[0]}x{size[1]}", f"{arguments} --micro-batch {size[0]} --length {size[1]}")
    add_case(f"case-{label}-2x128", f"case-{label}-4x128", 3, 1, "--scale", "micro_batch=2:4")
    add_case(f"case-{label}-4x128", f"case-{label}-2x128", 3, 1, "--scale", "micro_batch=4:2")
    add_case(f"case-{label}-2x128", f"case-{label}-2x192", 3, 1, "--scale", "seq_len=128:192")
CHECKPOINTED = "--model gpt --width 256 --vocabulary 4096 --layers 3 --steps 2 --micro-batch 8 --length 256"
add_run("case-layers", CHECKPOINTED)
add_run("case-layers-checkpoint", CHECKPOINTED + " --checkpoint")
add_case("case-layers", "case-layers-checkpoint", 3, 1, "--transform", "checkpoint")

# SPDX-License-Identifier: Apache-2.0
