# SPDX-License-Identifier: Apache-2.0
"""`python -m whyoom` is the command `whyoom`."""
from whyoom._program import main

main()
