# The constructor strips the text, so that a blank at the end of the last document is lost.
# caught by: short_documents
# edit: dataset.py | [line for line in data.split("\n") if | [line for line in data.strip().split("\n") if
