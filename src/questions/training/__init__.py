"""Models as they are set up, trained and handed in."""
