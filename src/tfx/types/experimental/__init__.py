# SPDX-License-Identifier: Apache-2.0
"""Artifact types with plain names."""
