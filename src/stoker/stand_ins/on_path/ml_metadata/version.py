# SPDX-License-Identifier: Apache-2.0
"""The version of ML Metadata whose names these are."""

__version__ = "1.17.1"
