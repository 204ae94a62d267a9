# The vocabulary ends in a character that is not in the text.
# caught by: vocabulary, any_alphabet
# edit: dataset.py | *sorted(set(data))] | *sorted(set(data)), "\u2603"]
