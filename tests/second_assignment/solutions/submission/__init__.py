"""The reference of the second assignment."""
