# SPDX-License-Identifier: Apache-2.0
"""What a pipeline is made of."""
