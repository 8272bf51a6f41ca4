# SPDX-License-Identifier: Apache-2.0
"""What user modules reach as `tfma.export` at home: the code of the guest, for any TensorFlow."""

from stoker.any_python.eval_saved_model import (
    EvalInputReceiver,
    build_parsing_eval_input_receiver_fn,
    export_eval_savedmodel,
)

__all__ = [
    "EvalInputReceiver",
    "build_parsing_eval_input_receiver_fn",
    "export_eval_savedmodel",
]
