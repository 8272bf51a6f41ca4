"""What the model is made of, and how it learns."""

HIDDEN_UNITS = [16, 8]
LEARNING_RATE = 1e-2
TRAIN_BATCH_SIZE = 40
EVAL_BATCH_SIZE = 40
