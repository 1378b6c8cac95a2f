# SPDX-License-Identifier: Apache-2.0
"""The logs of the tree, and those of labelled corpora beside it."""
import json
import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
CORPORA = TREE.parent / "shared" / "corpus"
MOST_BYTES = 60000  # a longer log costs more time than it tells


class Log:
    def __init__(self, name, text):
        self.name = name
        self.lines = text.split("\n")


def samples():
    for path in sorted((TREE / "samples").glob("*/*.err")):
        yield Log(str(path.relative_to(TREE)), path.read_text())


def examples():
    """The logs in the examples of causes, which are complete enough to be diagnosed."""
    for path in sorted((TREE / "rules" / "packs" / "causes").glob("*/*.json")):
        text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
        for at, example in enumerate(json.loads(text).get("examples", [])):
            if example.get("log"):
                yield Log("%s#%d" % (path.relative_to(TREE), at), "\n".join(example["log"]))


def corpora():
    for labels in sorted(CORPORA.glob("*/labels.jsonl")):
        for row in labels.read_text().splitlines():
            label = json.loads(row) if row.strip() else {}
            path = labels.parent / label.get("file", "")
            if path.is_file() and path.stat().st_size <= MOST_BYTES and "format" not in label:
                yield Log("%s/%s" % (labels.parent.name, path.name), path.read_bytes().decode("utf-8", "replace"))
