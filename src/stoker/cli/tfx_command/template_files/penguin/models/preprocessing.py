"""What Transform does to every example, in training and in serving."""

import tensorflow_transform as tft
from models import features


def preprocessing_fn(inputs):
    """Measures around zero, and the label as it is."""
    outputs = {
        features.transformed_name(key): tft.scale_to_z_score(inputs[key])
        for key in features.FEATURE_KEYS
    }
    outputs[features.transformed_name(features.LABEL_KEY)] = inputs[features.LABEL_KEY]
    return outputs
