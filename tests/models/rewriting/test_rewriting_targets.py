# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.models.rewriting.report import Report
from stoker.models.rewriting.targets import TARGETS, check_targets


def test_targets_are_kept_in_order():
    assert check_targets(["onnx", "tflite"]) == ["onnx", "tflite"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["coreml"], "no format 'coreml'; there are tflite, tflite_dynamic"),
        ([], "at least one"),
        (["onnx", "onnx"], "none of them twice"),
    ],
)
def test_wrong_targets_are_told_what_there_is(names, message):
    with pytest.raises(ValueError, match=message):
        check_targets(names)


def test_every_target_has_a_folder_of_its_own():
    folders = {target.folder for target in TARGETS.values()}

    assert len(folders) == len(TARGETS)
    assert all(folder.startswith("Format-") for folder in folders)


def test_a_report_is_read_back_as_it_was_written(tmp_path):
    report = Report(
        format="TFLite",
        precision="float16",
        signature="serving_default",
        inputs={"x": {"dtype": "float32", "shape": [-1, 1], "meaning": "as saved"}},
        outputs=["y"],
        left_out=[],
        cut=False,
        converter="tensorflow",
        tolerance=0.01,
        compared_on="500 eval examples",
        original_bytes=1000,
        rewritten_bytes=10,
        original_ms=0.5,
        note="It was not run: there is no Node.",
    )
    report.write(str(tmp_path))

    assert Report.read(str(tmp_path)) == report
    assert report.summary() == "10 bytes instead of 1,000. It was not run: there is no Node."
