"""What staff grade with, and what students never get."""
