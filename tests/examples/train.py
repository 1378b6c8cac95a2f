# SPDX-License-Identifier: Apache-2.0
"""A program that prints its steps and runs out of memory, on the stand-in for torch."""
import torch

print("per_device_train_batch_size: 4", flush=True)
torch.allocate(30 << 20)
for step in range(1, 4):
    print(f"step {step}/100 loss 2.31", flush=True)
torch.allocate(50 << 20)
