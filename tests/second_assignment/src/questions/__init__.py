"""The questions of the second assignment."""
