#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of the Python package (packaging/python), with a built program.

usage: run.py WHYOOM [NAME...]     names as unittest takes them: test_watch.Watch

Only Python itself is needed. Tests of torch, transformers, Lightning, pandas, mypy and of the wheel are skipped, and say so, where these
are missing: they are looked for in this Python, in PYTHONPATH, and torch and transformers also where tests/training/run keeps them.
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    os.environ["WHYOOM"] = os.path.abspath(sys.argv[1])
    os.environ.pop("WHYOOM_BINARY", None)
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "packaging" / "python" / "src")]
    loader = unittest.defaultTestLoader
    tests = loader.loadTestsFromNames(sys.argv[2:]) if sys.argv[2:] else loader.discover(str(HERE))
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
