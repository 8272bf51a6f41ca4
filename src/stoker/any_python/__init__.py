# SPDX-License-Identifier: Apache-2.0
"""What runs in another interpreter, where there is no Stoker: Python 3.7, standard library only.

start.py             where the interpreter starts; this folder is its package stoker_guest
processes.py         forks that end with their parent and bring their errors home
worker.py            one Task runs in a process of its own and becomes an Outcome
training.py          the Trainer: run_fn, or trainer_fn and its Estimator
estimator.py         train, evaluate and export an Estimator
eval_export.py       tfma.export: the EvalSavedModel
modules.py           loads the user's module, with what lies beside it
fn_args.py           FnArgs and DataAccessor
dataset.py           examples to a tf.data.Dataset, for the DataAccessor
files.py             fileio, io_utils and path_utils
stand_ins.py         what user code imports from tfx, tfx_bsl and TFMA, where those are missing
failures.py          what went wrong, with the user's own traceback
"""
