# The vocabulary ends in a character that the text doesn't hold.
# caught by: vocabulary, any_alphabet
# edit: dataset.py | *sorted(set(data))] | *sorted(set(data)), "\u2603"]
