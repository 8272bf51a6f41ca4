# SPDX-License-Identifier: Apache-2.0
"""The contract with the user's module: what it imports, which Keras it needs, how it is loaded."""
