"""Experiments: what run.py's commands find out about a model that a student has trained."""
