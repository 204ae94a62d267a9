# The constructor strips the lines, so that a blank at a document's end is lost.
# caught by: short_documents
# edit: dataset.py | [line for line in data.split("\n") if | [line.strip() for line in data.split("\n") if
