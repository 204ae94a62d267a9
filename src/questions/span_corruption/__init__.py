"""Span corruption: what CharCorruptionDataset draws."""
