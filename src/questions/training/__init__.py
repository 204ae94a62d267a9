"""Finetuning and pretraining: set-ups, predictions, parameters."""
