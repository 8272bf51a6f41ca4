# SPDX-License-Identifier: Apache-2.0
"""What a model is: signatures, examples to inputs, serving, scoring, checks, other formats."""
