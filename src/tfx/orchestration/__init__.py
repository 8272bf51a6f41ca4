# SPDX-License-Identifier: Apache-2.0
"""What runs a pipeline, and where it keeps its records."""
