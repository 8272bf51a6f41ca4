# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from stoker.errors import RewriteFailed
from stoker.models.rewriting.converters import (
    RewritingExporter,
    create_rewriter,
    rewrite_saved_model,
)
from stoker.models.rewriting.rewriter import BaseRewriter, ModelDescription, ModelType

STEPS = ["_pre_rewrite_validate", "_rewrite", "_post_rewrite_validate"]


class NotingRewriter(BaseRewriter):
    """Writes a note, and fails in the step that it is told."""

    name = "noting"

    def __init__(self, failing=None):
        self.failing = failing
        self.called = []

    def _note(self, step):
        self.called.append(step)
        if step == self.failing:
            raise ValueError(f"no {step} today")

    def _pre_rewrite_validate(self, original_model):
        self._note("_pre_rewrite_validate")

    def _rewrite(self, original_model, rewritten_model):
        with open(f"{rewritten_model.path}/note", "w") as file:
            file.write(original_model.path)
        self._note("_rewrite")

    def _post_rewrite_validate(self, rewritten_model):
        self._note("_post_rewrite_validate")


def rewrite(rewriter, folder):
    rewriter.perform_rewrite(
        ModelDescription(ModelType.SAVED_MODEL, "original"),
        ModelDescription(ModelType.ANY_MODEL, str(folder)),
    )


def test_a_rewriter_checks_then_rewrites_then_checks(tmp_path):
    rewriter = NotingRewriter()

    rewrite(rewriter, tmp_path)

    assert rewriter.called == STEPS
    assert (tmp_path / "note").read_text() == "original"


@pytest.mark.parametrize("failing", STEPS)
def test_the_first_failure_ends_it_keeps_its_text_and_leaves_nothing(tmp_path, failing):
    (tmp_path / "mine").write_text("was here before")
    rewriter = NotingRewriter(failing)

    with pytest.raises(ValueError, match=f"noting .* original: no {failing} today"):
        rewrite(rewriter, tmp_path)

    assert rewriter.called == STEPS[: STEPS.index(failing) + 1]
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_an_error_that_is_none_of_the_rewriters_leaves_nothing_either(tmp_path):
    class Stopped(NotingRewriter):
        def _post_rewrite_validate(self, rewritten_model):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rewrite(Stopped(), tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_model_is_not_rewritten_into_its_own_folder(tmp_path):
    with pytest.raises(ValueError, match="own folder"):
        rewrite_saved_model(str(tmp_path), f"{tmp_path}/", NotingRewriter())


def test_there_is_no_rewriter_of_an_unknown_type():
    with pytest.raises(ValueError, match="no rewriter 'toaster'; there are TFLiteRewriter"):
        create_rewriter("toaster", name="mine")


class Exporter:
    """Exports a file to a folder of its own, as Estimators' exporters do, or nothing."""

    name = "best"

    def __init__(self, exports=True):
        self.exports = exports

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if not self.exports:
            return None
        folder = f"{export_path}/1600000000"
        os.makedirs(folder)
        with open(f"{folder}/saved_model.pb", "w") as file:
            file.write(f"{estimator} {checkpoint_path} {eval_result} {is_the_final_export}")
        return folder.encode()


def export(exporter, folder):
    return exporter.export("estimator", str(folder), "checkpoint", {"loss": 1}, True)


def test_an_export_is_replaced_by_what_it_is_rewritten_to(tmp_path):
    exporter = RewritingExporter(Exporter(), NotingRewriter())

    path = export(exporter, tmp_path)

    assert exporter.name == "best"
    assert path == f"{tmp_path}/1600000000"
    assert [file.name for file in tmp_path.iterdir()] == ["1600000000"]
    assert [file.name for file in (tmp_path / "1600000000").iterdir()] == ["note"]


def test_an_exporter_that_does_not_export_now_is_not_rewritten(tmp_path):
    rewriter = NotingRewriter()

    assert export(RewritingExporter(Exporter(exports=False), rewriter), tmp_path) is None
    assert rewriter.called == []


def test_an_export_that_cannot_be_rewritten_stays_as_it_was(tmp_path):
    with pytest.raises(RewriteFailed, match="no _rewrite today"):
        export(RewritingExporter(Exporter(), NotingRewriter("_rewrite")), tmp_path)

    assert [file.name for file in tmp_path.rglob("*")] == ["1600000000", "saved_model.pb"]
