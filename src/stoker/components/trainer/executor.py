# SPDX-License-Identifier: Apache-2.0
"""What the Trainer does in a worker: it builds FnArgs and calls the user's function."""

from typing import Any, ClassVar

from stoker.any_python.modules import load_named
from stoker.any_python.training import train
from stoker.dsl import Artifacts, BaseExecutor
from stoker.training import watch
from stoker.user_code.fn_args import FnArgs, get_trainer_fn_args

TrainerFnArgs = FnArgs


class GenericExecutor(BaseExecutor):
    """Calls `run_fn(fn_args)`, which trains with whatever API it likes and writes the model.

    A module that has only a `trainer_fn` is trained as an Estimator.
    """

    FUNCTIONS: ClassVar[tuple[str, ...]] = ("run_fn", "trainer_fn")
    """The user's functions that this executor calls; of two in a module the first."""

    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Train."""
        fn_args = get_trainer_fn_args(
            input_dict,
            output_dict,
            exec_properties,
            working_dir=self._get_tmp_dir(),
            checkpoint_dir=self._context.checkpoint_dir,
            columns_dir=self._context.columns_dir,
        )
        watched = exec_properties.get("watch", True)
        if watched and fn_args.checkpoint_dir:
            from stoker.training.resume.checkpoints import prepare_to_resume  # it needs NumPy

            prepare_to_resume(fn_args.checkpoint_dir)
        name, function = load_named(exec_properties, self.FUNCTIONS)
        if name == "trainer_fn":
            from stoker.patches.tensorflow_estimator import enable_estimators

            enable_estimators()
        stop_on_nan = bool(exec_properties.get("stop_on_nan"))
        with watch(
            fn_args,
            node=self._context.node_id,
            enabled=watched,
            stop_on_nan=stop_on_nan,
            steps_per_execution=exec_properties.get("steps_per_execution"),
        ):
            train(name, function, fn_args, _read_schema)


class Executor(GenericExecutor):
    """Calls `trainer_fn(fn_args, schema)`, and trains the Estimator that it returns."""

    FUNCTIONS: ClassVar[tuple[str, ...]] = ("trainer_fn",)

    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Train, in a process that has Estimators before the module is loaded."""
        from stoker.patches.tensorflow_estimator import enable_estimators

        enable_estimators()
        super().Do(input_dict, output_dict, exec_properties)


def _read_schema(path: str) -> Any:
    from stoker.statistics.data_schema import read_schema

    return read_schema(path)
