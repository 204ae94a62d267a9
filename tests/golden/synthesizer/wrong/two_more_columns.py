# w2 and b2 have two columns too many.
# caught by: shapes, causality, values, full_length
# message of: shapes
# edit: attention.py | config.block_size)) | config.block_size + 2))
