# SPDX-License-Identifier: Apache-2.0
"""What users' modules call: a rewriter by name, on a SavedModel or in an Estimator's exporter."""

import os
import pkgutil
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from stoker.models.rewriting.rewriter import BaseRewriter, ModelDescription, ModelType
from stoker.models.rewriting.targets import TARGETS
from stoker.storage.files import make_scratch_dir

TFLITE_REWRITER = "TFLiteRewriter"
TFJS_REWRITER = "TFJSRewriter"
ONNX_REWRITER = "ONNXRewriter"


def create_rewriter(rewriter_type: str, *args: Any, **kwargs: Any) -> BaseRewriter:
    """A rewriter of this type, which may be written in lower case, made with these arguments."""
    known = {target.rewriter.partition(":")[2]: target.rewriter for target in TARGETS.values()}
    for name, reference in known.items():
        if name.lower() == rewriter_type.lower():
            rewriter: BaseRewriter = pkgutil.resolve_name(reference)(*args, **kwargs)
            return rewriter
    raise ValueError(f"There is no rewriter {rewriter_type!r}; there are {', '.join(known)}.")


def rewrite_saved_model(
    src: str,
    dst: str,
    rewriter_inst: BaseRewriter,
    dst_model_type: ModelType = ModelType.SAVED_MODEL,
) -> None:
    """Rewrite the SavedModel in `src` into the folder `dst`."""
    _invoke_rewriter(src, dst, rewriter_inst, ModelType.SAVED_MODEL, dst_model_type)


class RewritingExporter:
    """An Estimator's exporter whose exports are rewritten: the result takes their place."""

    def __new__(cls, base_exporter: Any, *_: Any, **__: Any) -> Self:
        """Make it an Exporter, since EvalSpec takes nothing else, without importing Estimators."""
        kinds = [kind for kind in type(base_exporter).__mro__ if kind.__name__ == "Exporter"]
        return object.__new__(type(cls.__name__, (cls, *kinds), {}))

    def __init__(self, base_exporter: Any, rewriter_inst: BaseRewriter) -> None:
        self._base_exporter = base_exporter
        self._rewriter_inst = rewriter_inst

    @property
    def name(self) -> str:
        """The name of the exporter, which is that of its folder."""
        return str(self._base_exporter.name)

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> str | None:
        """Export as the base exporter does, then rewrite; None if it did not export now."""
        base_path = self._base_exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
        if not base_path:
            return None
        base_path = os.fsdecode(base_path)
        # Beside the export: a rename has to stay in one file system.
        with make_scratch_dir(export_path, prefix="tmp-rewrite-") as folder:
            rewritten = os.path.join(folder, "model")
            os.mkdir(rewritten)
            # Estimators export inside a graph; a thread of its own begins outside of it.
            with ThreadPoolExecutor(max_workers=1) as outside:
                outside.submit(
                    _invoke_rewriter,
                    base_path,
                    rewritten,
                    self._rewriter_inst,
                    ModelType.SAVED_MODEL,
                    ModelType.ANY_MODEL,
                ).result()
            shutil.rmtree(base_path)
            os.rename(rewritten, base_path)
        return base_path


def _invoke_rewriter(
    src: str,
    dst: str,
    rewriter_inst: BaseRewriter,
    src_model_type: ModelType,
    dst_model_type: ModelType,
) -> None:
    if os.path.abspath(src) == os.path.abspath(dst):
        raise ValueError(
            f"A model cannot be rewritten into its own folder, {src}. Name another folder."
        )
    rewriter_inst.perform_rewrite(
        ModelDescription(src_model_type, src), ModelDescription(dst_model_type, dst)
    )
