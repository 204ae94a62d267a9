# The constructor strips the lines, of which none has a blank at an end.
# edit: dataset.py | [line for line in data.split("\n") if | [line.strip() for line in data.split("\n") if
