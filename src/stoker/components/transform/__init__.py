# SPDX-License-Identifier: Apache-2.0
"""Transform: a user's preprocessing_fn becomes a graph, and examples become what it returns."""
