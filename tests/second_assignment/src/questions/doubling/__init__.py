"""Doubling a number."""
