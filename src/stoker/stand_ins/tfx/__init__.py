# SPDX-License-Identifier: Apache-2.0
"""What code written for TFX calls by name and Stoker itself does not need; `tfx` re-exports it."""
