# SPDX-License-Identifier: Apache-2.0
"""The Tuner: a search for the hyperparameters that a model learns best with."""
