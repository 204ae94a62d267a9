"""The building blocks from the lectures, which have no points in most editions."""
