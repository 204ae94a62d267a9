"""Span corruption: the items that CharCorruptionDataset draws."""
