# Keys stay as they are.
# edit: attention.py | q, k = (self.rotated(each, self.rope_cache) for each in (q, k)) | q = self.rotated(q, self.rope_cache)
# caught by: whole_model
