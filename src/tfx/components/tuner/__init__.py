# SPDX-License-Identifier: Apache-2.0
"""Tuner: examples and a user's tuner_fn in, the best hyperparameters out."""
