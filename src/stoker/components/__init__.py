# SPDX-License-Identifier: Apache-2.0
"""The steps: one file or folder each, with its table and its executor."""
