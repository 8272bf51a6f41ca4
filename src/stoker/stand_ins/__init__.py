# SPDX-License-Identifier: Apache-2.0
"""What is importable though it is not installed.

tfx/        what is behind the names of `tfx` that Stoker itself does not need
tfma/       tensorflow_model_analysis: configurations, results, views
tfdv/       tensorflow_data_validation: statistics, schemas, anomalies
tfx_bsl.py  tfx_bsl: the options of a DataAccessor
on_path/    the packages themselves, which the wheel puts at the end of sys.path: an installed one
            comes first (docs/decisions/0005-stand-ins-on-the-path.md)
            _stoker_on_import.py lets programs with TFX's libraries alone have provide.py too
provide.py  to be imported for its effect: libraries have the names that they lost
"""
