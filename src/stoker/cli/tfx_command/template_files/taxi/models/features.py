"""The columns of the data: what the model reads, and what it foresees."""

DENSE_FLOAT_FEATURE_KEYS = ["trip_km", "trip_minutes", "fare"]
BUCKET_FEATURE_KEYS = ["start_latitude", "start_longitude"]
VOCAB_FEATURE_KEYS = ["payment", "company"]
# Numbers that stand for something, and one more than the largest of them.
CATEGORICAL_FEATURES = {"start_hour": 24, "start_weekday": 8, "start_area": 41}

FARE_KEY = "fare"
LABEL_KEY = "tip"

BUCKET_COUNT = 10
VOCAB_SIZE = 20
OOV_SIZE = 2

EVAL_METRIC = "BinaryAccuracy"

# How many values each of the model's categories may have, after the transformation.
CATEGORY_SIZES = {
    **dict.fromkeys(BUCKET_FEATURE_KEYS, BUCKET_COUNT),
    **dict.fromkeys(VOCAB_FEATURE_KEYS, VOCAB_SIZE + OOV_SIZE),
    **CATEGORICAL_FEATURES,
}


def transformed_name(key):
    """A transformed feature has a name of its own, so that nobody takes it for the raw one."""
    return key + "_xf"
