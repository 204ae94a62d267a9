"""Models: how they are set up, trained and submitted."""
