"""Code that several topics share."""
