"""Trained readouts: the saddle point of docs/theory, section 4, and what it predicts."""
