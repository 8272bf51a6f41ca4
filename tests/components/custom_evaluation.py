# SPDX-License-Identifier: Apache-2.0
"""An Evaluator's module: it loads the model itself, and turns all labels round."""

import apache_beam as beam
import tensorflow_model_analysis as tfma


def custom_eval_shared_model(eval_saved_model_path, model_name, eval_config, **kwargs):
    print(f"loads {model_name!r} with {sorted(kwargs)}", flush=True)
    return tfma.default_eval_shared_model(
        eval_saved_model_path=eval_saved_model_path,
        model_name=model_name,
        eval_config=eval_config,
        **kwargs,
    )


def custom_extractors(eval_shared_model, eval_config, tensor_adapter_config):
    print(f"adapts {sorted(tensor_adapter_config.tensor_representations)}", flush=True)
    *before, last = tfma.default_extractors(
        eval_shared_model=eval_shared_model, eval_config=eval_config
    )
    turned = tfma.extractors.Extractor(stage_name="TurnRound", ptransform=_turn_round())
    return [*before, turned, last]


@beam.ptransform_fn
def _turn_round(extracts):
    return extracts | beam.Map(lambda one: {**one, "labels": 1 - one["labels"]})
