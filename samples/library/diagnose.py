#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Why a job ran out of memory, by the Python package: the cause, the first fix, and the shortage, as diagnose.c says them.

pip install ./whyoom-*.whl && python diagnose.py slurm-4711.out
"""
import sys

import whyoom


def main() -> int:
    try:
        found = whyoom.diagnose(sys.argv[1:])
    except whyoom.Error as error:
        print(error, file=sys.stderr)
        return 2
    cause = found.findings[0] if found.findings else None
    print(f"job {found.job.id or 'not known'}: {cause.title if cause else 'not known'}")
    print(f"  fix: {cause.fixes[0].title if cause and cause.fixes else 'not known'}")
    if found.shortage is not None:
        print(f"  missing: {found.shortage.bytes / 2**20:.0f} MiB")
    print(found.messages, end="\n" if found.messages else "", file=sys.stderr)
    return found.exit_status


if __name__ == "__main__":
    sys.exit(main())
