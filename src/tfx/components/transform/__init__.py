# SPDX-License-Identifier: Apache-2.0
"""Transform: examples and a user's preprocessing_fn in, a graph and transformed examples out."""
