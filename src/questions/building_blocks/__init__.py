"""The building blocks of the lectures, without points in most editions."""
