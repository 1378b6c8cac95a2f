"""Runs out of memory on the stand-in for torch, or with `wait`: uses it until a file named "stop" appears."""
import os
import sys
import time

import torch

torch.allocate(30 << 20)
if sys.argv[1:] == ["wait"]:
    print("ready", flush=True)
    while not os.path.exists("stop"):
        time.sleep(0.05)
else:
    torch.allocate(50 << 20)

# SPDX-License-Identifier: Apache-2.0
