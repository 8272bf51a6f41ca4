# SPDX-License-Identifier: Apache-2.0
"""What is importable though it is not installed."""
