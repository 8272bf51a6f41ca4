# SPDX-License-Identifier: Apache-2.0
"""What workers need in any interpreter, from Python 3.7 on, with the standard library only.

The rest of Stoker imports it as usual. Another interpreter, where there is no Stoker, starts
start.py, and has this folder as the package stoker_any_python.

fn_args.py           FnArgs and DataAccessor
modules.py           loads the user's module, with what lies beside it, and finds the function in it
training.py          calls run_fn, or trains the Estimator of trainer_fn
estimator.py         trains, evaluates and exports an Estimator
eval_export.py       tfma.export: the EvalSavedModel
layout.py            where things lie inside an artifact's directory, and their names
fileio.py, io_utils.py  TFX's modules of these names
forking.py           forks that end with their parent and bring their errors home; how to stop
in_order.py          calls at the same time, their results in order
launcher_link.py     how a worker is asked for, and how it answers
failures.py          what went wrong, with the user's own traceback
lines.py             lines of our own, without what would steer a terminal
surroundings.py      the program's paths, arguments and flags; seeds; a root TensorFlow can read
notes.py             what a step's code reads besides its inputs: whose it is, how it is noted
observing.py         notes it while the code runs
tensorflow_files.py  the files that TensorFlow reads by itself
logs.py              what libraries log and nobody wants to read

Only in another interpreter:

start.py             where it starts
worker.py            a Trainer's Task runs in a process of its own, and becomes an Outcome
dataset.py           examples to a tf.data.Dataset, for the DataAccessor
absent_packages.py   what user code imports from tfx, tfx_bsl and TFMA, where those are missing
"""
