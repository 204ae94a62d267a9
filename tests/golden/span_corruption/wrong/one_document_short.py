# The length of the dataset leaves out a document.
# caught by: vocabulary, pairs, arrangement, block_sizes
# message of: vocabulary, block_sizes
# edit: dataset.py | return len(self.data) | return len(self.data) - 1
