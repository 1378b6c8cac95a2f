# SPDX-License-Identifier: Apache-2.0
"""One case: files, rule files and a command line. Findings keep cases as JSON."""
import os

import content

RULES = "@rules"
PLOT = "plot.svg"


class Case:
    """`files` and `rules`: (name in bytes, recipe). `args`: texts; "@0" is the first file, "@rules" the folder of the rule files.
    `variants`: how the properties run it again (properties.py). `told`: the input holds something that no report may pass over
    in silence."""

    def __init__(self, generator, args, files, rules=(), variants=(), told=False, is_terminal=False):
        self.generator, self.args, self.files, self.rules = generator, list(args), list(files), list(rules)
        self.variants, self.told, self.is_terminal = list(variants), told, is_terminal

    def command(self):
        """The command's name: "" for a diagnosis."""
        first = self.args[0] if self.args else ""
        return first if first in ("verify", "replay", "budget", "rules", "explain", "help", "completion", "version") else ""

    def argv(self, names=None):
        """The words of the call. Files whose names begin with '-' are given as ./-name."""
        names = names or [name for name, _ in self.files]
        found = []
        for word in self.args:
            if isinstance(word, str) and word[:1] == "@" and word[1:].isdigit():
                name = names[int(word[1:])]
                word = b"./" + name if name.startswith(b"-") and name != b"-" else name
            elif word == RULES:
                word = b"rules"
            found.append(word if isinstance(word, bytes) else word.encode("utf-8", "surrogateescape"))
        return found

    def is_json(self):
        return any(a == "--format" and b == "json" for a, b in zip(self.args, self.args[1:]))

    def has_color(self):
        return "--color" in self.args or "--color=always" in self.args

    def input_bytes(self):
        """Bytes that the program reads, expanded."""
        return sum(content.expanded_size(parts) for _, parts in self.files + self.rules)

    def holds(self, word):
        """Whether one of the files has these bytes."""
        return any(word in content.realise(parts) for _, parts in self.files)

    def with_args(self, args):
        return Case(self.generator, args, self.files, self.rules, self.variants, self.told, self.is_terminal)

    def with_files(self, files):
        return Case(self.generator, self.args, files, self.rules, self.variants, self.told, self.is_terminal)

    def without_file(self, at):
        """The case without a file and without the words that name it."""
        args, skip = [], False
        for i, word in enumerate(self.args):
            following = self.args[i + 1] if i + 1 < len(self.args) else ""
            if skip or word == "@%d" % at:
                skip = False
            elif following == "@%d" % at and word.startswith("--"):
                skip = True
            elif isinstance(word, str) and word[:1] == "@" and word[1:].isdigit() and int(word[1:]) > at:
                args.append("@%d" % (int(word[1:]) - 1))
            else:
                args.append(word)
        return self.with_args(args).with_files([file for i, file in enumerate(self.files) if i != at])

    def scaled(self, factor):
        return self.with_files([(name, content.scaled(parts, factor)) for name, parts in self.files])

    def is_pumped(self):
        return any(content.is_pumped(parts) for _, parts in self.files)

    def to_json(self):
        found = {"generator": self.generator, "args": [os.fsdecode(word) if isinstance(word, bytes) else word for word in self.args],
                 "files": [{"name": os.fsdecode(name), "parts": content.to_json(parts)} for name, parts in self.files]}
        if self.rules:
            found["rules"] = [{"name": os.fsdecode(name), "parts": content.to_json(parts)} for name, parts in self.rules]
        if self.variants:
            found["variants"] = self.variants
        for flag in ("told", "is_terminal"):
            if getattr(self, flag):
                found[flag] = True
        return found


def from_json(value):
    def files(key):
        return [(os.fsencode(file["name"]), file["parts"]) for file in value.get(key, [])]
    return Case(value.get("generator", "finding"), value["args"], files("files"), files("rules"),
                [tuple(variant) if isinstance(variant, list) else variant for variant in value.get("variants", [])],
                value.get("told", False), value.get("is_terminal", False))
