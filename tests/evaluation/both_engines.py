# SPDX-License-Identifier: Apache-2.0
"""Evaluates one model with both engines, where TFMA is; prints what differs, as JSON.

python both_engines.py FOLDER CONFIG    the folder has model/, baseline/ and data.gz
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow_model_analysis as tfma

from stoker.components.scoring import scored_batches
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import measure, plan_of
from stoker.evaluation.results import read_metrics, read_validation, write_evaluation
from stoker.evaluation.slices import named
from stoker.evaluation.thresholds import validate
from stoker.evaluation.with_tfma import evaluate_with_tfma


def main(folder: Path, given: str) -> None:
    record = json.loads(given)
    has_baseline = record.pop("has_baseline", False)
    # TFMA's own class, by the name that its 0.52 lacks.
    theirs = tfma.EvalConfig.FromString(as_eval_config(record).SerializeToString())
    config = with_defaults(as_eval_config(theirs), has_baseline=has_baseline)
    places = [str(folder / "model"), str(folder / "baseline")]
    names = [spec.name for spec in config.model_specs]
    models = dict(zip(names, places, strict=False))
    files = [str(folder / "data.gz")]
    ours, tfmas = (str(folder / name) for name in ("ours", "theirs"))
    plan = plan_of(config)
    measured = measure(plan, scored_batches(config, models, files))
    verdict = validate(plan, measured, rubber_stamp=False)
    os.makedirs(ours, exist_ok=True)
    write_evaluation(ours, config, measured, verdict, data_location=files[0], models=models)
    evaluate_with_tfma(config, models, files, tfmas, rubber_stamp=False)
    print(json.dumps({**compare(ours, tfmas), **read_by_tfma(ours)}))


def compare(ours: str, theirs: str) -> dict[str, object]:
    """What is in one evaluation and not in the other, and the largest differences by metric."""
    mine, other = read_metrics(ours), read_metrics(theirs)
    largest: dict[str, float] = {}
    for key in mine.keys() & other.keys():
        for metric in mine[key].keys() & other[key].keys():
            a, b = mine[key][metric], other[key][metric]
            same = a == b or (a != a and b != b)
            difference = 0 if same else abs(a - b) / max(1, abs(b))
            largest[metric.name] = max(largest.get(metric.name, 0), difference)
    verdicts = [read_validation(ours), read_validation(theirs)]
    return {
        "slices": len(mine),
        "other_slices": sorted(map(named, mine.keys() ^ other.keys())),
        "other_metrics": sorted({str(m) for k in mine for m in mine[k].keys() ^ other[k].keys()}),
        "largest": largest,
        "ok": [one.validation_ok for one in verdicts],
        "failed": [
            sum(len(s.failures) for s in one.metric_validations_per_slice) for one in verdicts
        ],
        "details": [str(one.validation_details) for one in verdicts],
    }


def read_by_tfma(folder: str) -> dict[str, object]:
    """What TFMA's own readers find in the files that we wrote."""
    result = tfma.load_eval_result(folder)
    verdict = tfma.load_validation_result(folder)
    return {"read_slices": len(result.slicing_metrics), "read_ok": verdict.validation_ok}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
