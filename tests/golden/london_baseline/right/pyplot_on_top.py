# The library for pictures is imported, as in a notebook; each worker imports it anew.
# edit: london_baseline.py | from .utils import | import matplotlib.pyplot as plt; from .utils import
