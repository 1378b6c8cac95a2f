#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds whyoom-rules(5) against the program: the keys of each sort of rule, and the words that its values may be, are those of the
tables of the sources, no more and no fewer; each key of the page is one that the program knows; the example of the page is without a
complaint.

usage: check_rules_page.py SOURCE PAGE WHYOOM
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Lists of words that are no table of keys: the file, the part of it that has them, and what is a word there.
WORDS = {
    "sorts": ("rules/load/rule_pack.c", r"wo__sort_rows\[\] = \{(.*?)\n\};", r'SORT\("(\w+)"'),
    "formats": ("rules/language/template.c", r"formats\[\] = \{(.*?)\n\};", r'\{"(\w+)"'),
    "weights": ("rules/load/weights.h", r"WO_WEIGHT_MAP\(X\)(.*?)\n\n", r'"(\w+)"'),
    "families": ("rules/check/rule_check.c", r"families\[\] = \{(.*?)\};", r'"(\w+)"'),
    "confidences": ("rules/load/rule_read_cause.c", r"confidence_names\[\] = \{(.*?)\};", r'\{"(\w+)"'),
    "places": ("rules/load/rule_read_pattern.c", r"place_names\[\] = \{(.*?)\};", r'\{"(\w+)"'),
    "bare units": ("rules/load/rule_read_pattern.c", r"units\[\] = \{(.*?)\};", r'\{"(\w+)"'),
    "kinds of programs": ("rules/load/program_kind.h", r"WO_PROGRAM_MAP\(X\)(.*?)\n\n", r'\w, "(\w+)", "'),
    "reaches": ("rules/load/rule_read_model.c", r"reach_names\[\] = \{(.*?)\};", r'\{"(\w+)"'),
    "units": ("rules/language/value.c", r"unit_names\[\] = \{(.*?)\n\};", r'= "(\w+)"'),
    "functions": ("rules/language/ops.def", r"(.*)", r'WO_OP_FUNCTION\(\w+, \w+, "(\w+)"'),
    "time line": ("rules/language/event_fact.c", r"(.*)", r'\{"(\w+)", WO_EVENT_'),
}
# A word that the code knows beside its table, and one that stands in the table for "none".
MORE = {"kinds of programs": {"any", "unknown"}}
LESS = {"units": {"nothing"}}
# The place of an object with the keys of a table: the rule around it, without which a key cannot be tried.
AROUND = {
    "example_members": lambda o: {"cause": "x", "when": "true", "examples": [o]},
    "clause_members": lambda o: {"cause": "x", "when": "true", "for": [o]},
    "row_members": lambda o: {"cause": "x", "when": "true", "show": [o]},
    "question_members": lambda o: {"cause": "x", "when": "true", "would_tell": [o]},
    "change_members": lambda o: {"fix": "x", "changes": [o]},
    "saves_members": lambda o: {"fix": "x", "saves": o},
    "cost_members": lambda o: {"fix": "x", "cost": o},
    "alias_members": lambda o: {"knob": "x", "aliases": [o]},
}

failures = 0


def complain(text):
    global failures
    failures += 1
    print(f"rules page: {text}")


def compare(what, page, sources):
    if not sources:
        complain(f"{what}: the sources have none")
    for name in sorted(sources - page):
        complain(f"{what}: {name} is not in the page")
    for name in sorted(page - sources):
        complain(f"{what}: the page has {name}, which the program does not know")


def tables_of_keys(source):
    """The tables `static const struct wo_member NAME[] = {...};` and the keys in them, which a macro may set."""
    tables = {}
    for path in sorted((source / "rules/load").glob("*.c")):
        for name, body in re.findall(r"struct wo_member (\w+)\[\] = \{\n(.*?)\n\};", path.read_text(), re.S):
            rows = re.findall(r"^    \{", body, re.M)
            keys = re.findall(r'^    \{(?:\.key = |[A-Z]+\()"(\w+)"', body, re.M)
            if len(keys) != len(rows):
                complain(f"{path.name}: {name} has {len(rows)} rows, of which {len(keys)} have a key that is understood")
            tables[name] = set(keys)
    return tables


def lists_of(page):
    """The lists of the page: (sort of list, name) -> the bold words of its tags, or all of them."""
    lists = {}
    found = re.findall(r'^\.\\" (keys|tags): (.*)\n((?:.*\n)*?)\.\\" end$', page, re.M)
    found += re.findall(r'^\.\\" (words): (.*)\n((?:.*\n)*?)\.\\" end words$', page, re.M)
    for kind, name, body in found:
        lines = body.splitlines()
        taken = [line for i, line in enumerate(lines) if kind == "words" or (i > 0 and lines[i - 1] == ".TP")]
        words = set()
        for line in taken:
            macro, *arguments = shlex.split(line, posix=True) if line.startswith(".B") else [""]
            words.update(arguments[::2] if macro == ".BR" else arguments)
        if (kind, name) in lists:
            complain(f"the list {name} stands twice")
        lists[kind, name] = words
    return lists


def ask(program, verb, text):
    """The exit status and the words of `rules VERB` on a folder with that text in a file."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "rule.json").write_text(text)
        said = subprocess.run([program, "rules", verb, folder], capture_output=True, text=True)
        return said.returncode, said.stdout + said.stderr


def try_keys(program, table, sort, keys):
    """The program takes none of the keys for an unknown one, whatever it says of the value, and does so of another key."""
    around = AROUND.get(table, lambda members: {sort: "x", **members})
    for key in sorted(keys - {sort, "needs"}) + ["no_such_key"]:
        is_unknown = f"unknown key '{key}'" in ask(program, "list", json.dumps(around({key: None})))[1]
        if is_unknown != (key == "no_such_key"):
            complain(f"{table}: {key} is {'not ' if is_unknown else ''}known to the program")


def main():
    source, page, program = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text(), sys.argv[3]
    lists, tables = lists_of(page), tables_of_keys(source)
    compare("tables of keys", {name for kind, name in lists if kind == "keys"}, set(tables))
    for name, keys in tables.items():
        compare(name, lists.get(("keys", name), set()), keys)
        try_keys(program, name, name.split("_")[0], lists.get(("keys", name), set()))
    compare("lists of words", {name for kind, name in lists if kind != "keys"}, set(WORDS))
    for name, (path, part, word) in WORDS.items():
        found = re.search(part, (source / path).read_text(), re.S)
        words = set(re.findall(word, found[1])) if found else set()
        page_words = lists.get(("words", name), set()) | lists.get(("tags", name), set())
        compare(name, page_words, (words | MORE.get(name, set())) - LESS.get(name, set()))
    example = re.search(r"^\.SH EXAMPLES\n.*?^\.EX\n(.*?)^\.EE$", page, re.M | re.S)[1]
    example = re.sub(r"^\\&", "", example, flags=re.M).replace(r"\-", "-").replace(r"\(ha", "^").replace(r"\(aq", "'")
    for verb in ("check", "test"):
        code, said = ask(program, verb, example.replace(r"\e", "\\"))
        if code != 0:
            complain(f"the example: rules {verb} ends with {code}: {said}")
    print(f"rules page: {len(tables)} tables with {sum(map(len, tables.values()))} keys, {len(WORDS)} lists of words, {failures} complaints")
    return 1 if failures else 0


sys.exit(main())
