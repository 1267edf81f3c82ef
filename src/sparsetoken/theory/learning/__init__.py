"""The best that any learner can do with so many samples (docs/theory, section 17)."""
