# SPDX-License-Identifier: Apache-2.0
"""Trainer: examples and a user's module in, a model out."""
