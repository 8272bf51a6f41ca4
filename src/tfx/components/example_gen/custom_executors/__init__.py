# SPDX-License-Identifier: Apache-2.0
"""Executors for FileBasedExampleGen."""
