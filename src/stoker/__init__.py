# SPDX-License-Identifier: Apache-2.0
"""Stoker: the TFX Trainer for today's Python."""
