#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that users rely on are added to, never renamed or removed: kinds and fields of evidence, ids of causes, fixes and knobs, facts, exit
codes, keys of the JSON reports, columns of rows of jobs.

usage: check_promises.py SOURCE_DIR             every name of promises.txt still exists
       check_promises.py SOURCE_DIR --write     add the names of today to promises.txt"""
import json
import re
import sys
from pathlib import Path


def rows(path, macro):
    """The quoted name in each row of an X-macro table."""
    return re.findall(rf'^{macro}\([^"\n]*"([^"]+)"', path.read_text(), re.M)


def schema_keys(schema, prefix=""):
    """Dotted paths of the properties of a schema, its definitions among them."""
    if isinstance(schema, list):
        for part in schema:
            yield from schema_keys(part, prefix)
    if not isinstance(schema, dict):
        return
    for name, part in schema.items():
        if name in ("properties", "$defs", "definitions"):
            for key, inner in part.items():
                yield prefix + key
                yield from schema_keys(inner, prefix + key + ".")
        elif isinstance(part, (dict, list)):
            yield from schema_keys(part, prefix)


def names_today(source):
    """{sort: set of names}."""
    only = lambda pattern: next(source.glob(pattern))
    names = {
        "kind": rows(only("parsers/**/event_kinds.def"), "WO_KIND"),
        "field": rows(only("parsers/**/fields.def"), "WO_FIELD"),
        "fact": rows(only("rules/**/facts.def"), r"WO_FACT\w*"),
    }
    names["column"] = re.findall(r"^WO_COLUMN\((\w+),", only("analyzer/row/columns.def").read_text(), re.M)
    for sort in ("causes", "fixes"):
        names[sort] = [path.stem for path in (source / "rules/packs" / sort).rglob("*.json")]
    knobs = "\n".join(path.read_text() for path in (source / "rules/packs/knobs").rglob("*.json"))
    names["knob"] = re.findall(r'"knob": "([a-z0-9_]+)"', knobs)
    for path in (source / "docs/schema").glob("*.json"):
        names[path.name.split(".")[0]] = schema_keys(json.loads(path.read_text()))
    return {sort: set(found) for sort, found in names.items()}


def main():
    source = Path(sys.argv[1])
    kept = source / "tests/checks/promises.txt"
    today = names_today(source)
    promised = {tuple(line.split(" ", 1)) for line in kept.read_text().splitlines()} if kept.exists() else set()
    if sys.argv[2:] == ["--write"]:
        promised |= {(sort, name) for sort, names in today.items() for name in names}
        kept.write_text("".join(f"{sort} {name}\n" for sort, name in sorted(promised)))
        return 0
    gone = sorted((sort, name) for sort, name in promised if name not in today.get(sort, ()))
    for sort, name in gone:
        print(f"promises: {sort} {name} is gone: users rely on it")
    fresh = sum(1 for sort, names in today.items() for name in names if (sort, name) not in promised)
    print(f"promises: {len(promised) - len(gone)} of {len(promised)} names are kept, {fresh} are new")
    return 1 if gone or not promised else 0


if __name__ == "__main__":
    sys.exit(main())
