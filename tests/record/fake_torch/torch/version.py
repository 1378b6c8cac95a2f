import os

cuda = None if os.environ.get("FAKE_TORCH_CUDA") == "cpu" else "12.8"

# SPDX-License-Identifier: Apache-2.0
