"""The synthesizer: shapes, values, gradients, trained files."""
