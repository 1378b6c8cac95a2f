# SPDX-License-Identifier: Apache-2.0
"""whyoom: why a GPU job ran out of memory, what to change, and proof.

    whyoom.diagnose("slurm-4711.err")          why a job failed
    whyoom.replay("oom.pickle", sweep=True)    what would have helped
    whyoom.budget(model="llama-3.1-8b", ...)   what a card must hold
    with whyoom.watch(): train()               a diagnosis at an out-of-memory error
    whyoom.backend()                           who answers: the library or the program
"""
from whyoom._ask import Backend, backend
from whyoom._budget import Budget, Component, Interval
from whyoom._calls import budget, diagnose, replay
from whyoom._diagnosis import Change, Diagnosis, Evidence, Finding, Fix
from whyoom._question import Error
from whyoom._replay import Replay
from whyoom._version import __version__
from whyoom._watch import is_out_of_memory, watch

__all__ = [
    "Backend",
    "Budget",
    "Change",
    "Component",
    "Diagnosis",
    "Error",
    "Evidence",
    "Finding",
    "Fix",
    "Interval",
    "Replay",
    "__version__",
    "backend",
    "budget",
    "diagnose",
    "is_out_of_memory",
    "replay",
    "watch",
]
