#!/usr/bin/env python3
"""Does a program really run on a card of a given size? Asked of real torch over the stub libraries beside this file.

usage: card.py FILE    a JSON list of tasks; their answers are printed, one line of JSON each

A task has a name and the arguments of program.py (`words`), and either
  "record": BYTES, "out": DIR   runs on such a card, recorded as `whyoom record` does it: DIR/trace.pickle is written where memory runs out, and
                                ends at the refused request, else when the program ends; DIR/message.txt has what torch said
  "whole": true, "cards": [...] what it takes on a card without end, and whether all its steps run on each of these cards

Each attempt is a process of its own, forked behind the import of torch, on a card that has so much memory and that nobody else uses: what torch
can have is all of it, less nothing. A real card stands in for a smaller one by a limit. Weights are not initialised, as nothing here looks at a
value.
"""
import ctypes
import json
import os
import pickle
import re
import sys
import traceback

import program

ENTRIES = 100000  # as `whyoom record` keeps at the most
WHOLE_CARD = 80 << 30
LEFT_BY_OTHERS = 2 << 30


def set_card(torch, size):
    """The card's memory, before anything is allocated there: the first two numbers of struct wo_standin, or a limit on a real card.
    Returns whether it is one."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        runtime = ctypes.CDLL(re.search(r"\S*/libcudart\S*", maps.read()).group())
    if hasattr(runtime, "wo_oracle_standin"):
        sizes = (ctypes.c_uint64 * 2).in_dll(runtime, "wo_oracle_standin")
        sizes[0] = sizes[1] = size
        return False
    torch.cuda.init()
    total = torch.cuda.get_device_properties(0).total_memory
    if size < total:
        torch.cuda.set_per_process_memory_fraction((size + 4096) / total)  # no block ends there; a fraction is not exact
    return True


def dump(torch, out):
    with open(os.path.join(out, "trace.pickle"), "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file)


def record(torch, out):
    """As record_sitecustomize.py does it: all entries, stacks of Python, a snapshot at the first refusal."""
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks="python", max_entries=ENTRIES)
    torch._C._cuda_attach_out_of_memory_observer(lambda *_: dump(torch, out))


def place_of(text):
    """In which part of a step an exception was raised, by its lines."""
    for word, place in (("value.backward()", "backward"), ("optimizer.step()", "optimizer"), ("loss(model", "forward")):
        if word in text:
            return place
    return "other"


def run(torch, args, size, out):
    """In the child: the answer of one attempt."""
    at = {"step": -1}
    is_real = set_card(torch, size)

    def before_step(step):
        at["step"] = step
        if out and step == args.from_step > 0:
            record(torch, out)

    if out and args.from_step == 0:
        record(torch, out)
    parts = program.make_parts(torch, args)
    answer = {"ran": True}
    try:
        program.run_steps(torch, args, parts, before_step)
        if out:
            dump(torch, out)
    except torch.cuda.OutOfMemoryError as error:
        if is_real and torch.cuda.mem_get_info()[0] < LEFT_BY_OTHERS:
            raise RuntimeError("others took the card's memory") from error
        answer = {"ran": False, "step": at["step"], "place": place_of(traceback.format_exc()), "message": str(error)}
    stats = torch.cuda.memory_stats()
    answer.update(reserved=stats["reserved_bytes.all.peak"], allocated=stats["allocated_bytes.all.peak"])
    return answer


def attempt(torch, words, size, out=None):
    """The answer of run() in a process of its own; None when it fails otherwise than for memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = run(torch, program.parse(["--out", out or "-", *words]), size, out)
            os.write(writing, json.dumps(answer).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def find_whole(torch, words):
    """A smaller card than what is allocated at the peak is never enough, and one of what is reserved always is."""
    whole = attempt(torch, words, WHOLE_CARD)
    if whole is None or not whole["ran"]:
        return {"error": "does not run on any card"}
    return {"reserved": whole["reserved"], "allocated": whole["allocated"]}


def do(torch, task):
    if "record" in task:
        os.makedirs(task["out"], exist_ok=True)
        answer = attempt(torch, task["words"], task["record"], task["out"])
        if answer and not answer["ran"]:
            with open(os.path.join(task["out"], "message.txt"), "w", encoding="utf-8") as file:
                file.write(f"torch.OutOfMemoryError: {answer['message']}\n")
        return answer
    answer = find_whole(torch, task["words"]) if task.get("whole") else {}
    for size in task.get("cards", []):
        ran = attempt(torch, task["words"], size)
        if ran is None:
            return None
        answer.setdefault("on", {})[str(size)] = ran["ran"]
    return answer


def leave_weights(torch):
    """Filling weights on the CPU takes most of the time of a run and changes nothing on the card."""
    for name in ("normal_", "uniform_"):
        filled = getattr(torch.Tensor, name)
        setattr(torch.Tensor, name, lambda self, *a, _filled=filled, **k: self if self.device.type == "cpu" else _filled(self, *a, **k))


def main():
    import torch
    import torch.utils.checkpoint
    leave_weights(torch)
    with open(sys.argv[1], encoding="utf-8") as file:
        tasks = json.load(file)
    for task in tasks:
        print(json.dumps({"name": task["name"], **(do(torch, task) or {"error": "failed"})}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
