# SPDX-License-Identifier: Apache-2.0
"""What a user's `run_fn` is told."""

from stoker.user_code.fn_args import DataAccessor, FnArgs, get_common_fn_args
