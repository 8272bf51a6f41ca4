# SPDX-License-Identifier: Apache-2.0
"""How a Resolver chooses, under the old paths."""
