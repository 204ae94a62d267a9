# The starter, untouched.
# caught by: pairs, arrangement, block_sizes
raise NotImplementedError("[span corruption] is yours to write")
