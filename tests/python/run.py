#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of the Python package (packaging/python), with a built program, and with the library in its place.

usage: run.py [--library FILE] WHYOOM [NAME...]     names as unittest takes them: test_watch.Watch, test_watch.WatchInProcess

Only Python itself is needed. Tests of torch, transformers, Lightning, pandas, mypy and of the wheel are skipped, and say so, where these
are missing: they are looked for in this Python, in PYTHONPATH, and torch and transformers also where tests/training/run keeps them.
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    words = sys.argv[1:]
    library = ""
    if words[:1] == ["--library"] and len(words) > 1:
        library = os.path.abspath(words[1])
        del words[:2]
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    os.environ["WHYOOM"] = os.path.abspath(words[0])
    os.environ["WHYOOM_TESTED_LIBRARY"] = library
    os.environ.pop("WHYOOM_BINARY", None)
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "packaging" / "python" / "src")]
    loader = unittest.defaultTestLoader
    tests = loader.loadTestsFromNames(words[1:]) if words[1:] else loader.discover(str(HERE))
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
