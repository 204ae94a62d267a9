# Keys stay as they are.
# edit: attention.py | q, k = self.with_positions(q), self.with_positions(k) | q = self.with_positions(q)
# caught by: whole_model
