#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds ids of the rule packs that stand as texts in the code: a rule that is renamed would break such code without a word.

usage: check_ids.py SOURCE_DIR

An id of a cause, fix, pattern, definition, knob or phase may stand in a string of the program only when rules/language/known_ids.def
has a row for it (`whyoom rules check` then complains when the id is gone), or when the string is another word of the same spelling:
those are listed below, by file. Rows that no code uses are complained of, too. Terms and models are looked up by words of a user or
of a log, never by a name in the code.
"""
import json
import pathlib
import re
import sys

SORTS = ("cause", "fix", "pattern", "define", "knob", "phase")
PARTS = ("analyzer", "parsers", "rules", "cuda_replay")

# Words that are spelled like an id and are none: (start of the path, words, what they are there).
OTHER_WORDS = (
    ("cuda_replay/", "*", "cuda_replay sees no rules: names of classes, actions, axes, options, keys of JSON and of traces"),
    ("parsers/base/command/call.c", "time-limit", "an option"),
    ("parsers/base/exchange/transforms.def", "offload-optimizer offload-parameters", "names of transforms"),
    ("parsers/base/exchange/replayed_knobs.def", "offload-optimizer offload-parameters", "names of transforms"),
    ("parsers/event/event_kinds.def", "preempted xid", "names of kinds"),
    ("parsers/event/fields.def", "dtype max_model_len max_num_seqs xid", "names of fields"),
    ("parsers/event/marks.def", "seff smi-table smi-q smi-xml gpustat sacct-json", "names of marks"),
    ("parsers/formats/", "free gpustat jobstats-packed sacct-json seff xid", "names of readers, and of their fields"),
    ("parsers/formats/frameworks/fmt_tf.c", "dtype", "a named group of a pattern"),
    ("parsers/steps/steps_form.c", "free eval", "words of lines that print memory"),
    ("rules/language/event_fact.c", "free", "a figure of slope()"),
    ("rules/check/rule_check.c", "fragmentation unclear", "families"),
    ("rules/load/rule_read_model.c", "head_dim", "a key of a model"),
    ("rules/load/model_shape.c", "logits", "a part of a model"),
    ("analyzer/budget/budget_args.c", "attention checkpointing dtype offload-optimizer offload-parameters optimizer", "options of `whyoom budget`"),
    ("analyzer/budget/", "logits optimizer", "rows of a budget"),
    ("analyzer/budget/budget_args.c", "offload-optimizer", "an option of `whyoom budget`"),
    ("analyzer/files/grouping.c", "seff", "a word in the names of files"),
    ("analyzer/report/", "micro_batch grad_accum seq_len global_batch free", "keys of the JSON report, parts of the card"),
    ("analyzer/facts/", "kv-cache logits free eval", "names of sizes, of figures and of structures of settings"),
    ("analyzer/card/card.c", "free", "a figure in a sentence"),
    ("analyzer/diagnosis/why_division.c", "free", "a part of the card"),
    ("analyzer/facts/host.c", "pin_memory", "a word in a message or the name of a function"),
    ("analyzer/screen/screen_rows.c", "fragmentation", "a family"),
    ("analyzer/story/job.h", "preempted", "an outcome"),
    ("analyzer/verify/verify_states.c", "optimizer", "rows of a budget"),
)


def without_comments(text, is_code):
    """The text with comments taken out, line for line; strings stay."""
    pattern = r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/|//[^\n]*' + (r"|'(?:[^'\\\n]|\\.)+'" if is_code else "")
    return re.sub(pattern, lambda m: m[0] if m[0][0] in "\"'" else "\n" * m[0].count("\n"), text, flags=re.S)


def ids_of(packs):
    """{id: sorts}"""
    ids = {}
    for path in packs.rglob("*.json"):
        rules = json.loads(without_comments(path.read_text(), False))
        for rule in rules if isinstance(rules, list) else [rules]:
            sort = next(iter(rule))
            if sort in SORTS:
                ids.setdefault(rule[sort], set()).add(sort)
    return ids


def is_other_word(path, text):
    return any(path.startswith(start) and (words == "*" or text in words.split()) for start, words, _ in OTHER_WORDS)


def main():
    source = pathlib.Path(sys.argv[1])
    ids = ids_of(source / "rules" / "packs")
    table = source / "rules" / "language" / "known_ids.def"
    known = {(m[1].lower(), m[2]) for m in re.finditer(r'^WO_KNOWN_ID\((\w+), "([^"]+)"', table.read_text(), re.M)}
    names = {id for _, id in known}
    used, problems = set(), []
    for path in sorted(p for part in PARTS for p in (source / part).rglob("*") if p.suffix in (".c", ".h", ".def") and p != table):
        name = str(path.relative_to(source))
        for number, line in enumerate(without_comments(path.read_text(), True).splitlines(), 1):
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line) if not line.lstrip().startswith("#include") else ():
                prefix = re.match(r"(config|def)\.(?=\w)", text)
                word = text[prefix.end():] if prefix else text
                if prefix and ("knob" if prefix[1] == "config" else "define") not in ids.get(word, ()):
                    problems.append(f"{name}:{number}: \"{text}\": no rule has that id")
                if word in names:
                    used.add(word)
                elif word in ids and (prefix or not is_other_word(name, word)):
                    sorts = " and ".join(sorted(ids[word]))
                    problems.append(f"{name}:{number}: \"{text}\" is the id of a {sorts}: make it a property of the rule, or add it to {table.relative_to(source)}")
    problems += [f"{table.relative_to(source)}: no code uses {sort} \"{id}\"" for sort, id in sorted(known) if id not in used and sort != "phase"]
    print("\n".join(problems) or f"{len(ids)} ids, {len(known)} of them known to the program")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
