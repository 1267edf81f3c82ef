"""Gradient descent on query, readout and bias together (docs/theory, section 13)."""
