"""Evidence that parameters were pretrained; the judge is staff's."""
