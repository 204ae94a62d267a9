# The constructor takes the last line for what follows a final newline.
# caught by: vocabulary, pairs, arrangement, block_sizes
# message of: block_sizes
# edit: dataset.py | for line in data.split("\n") if | for line in data.split("\n")[:-1] if
