# The key itself: too short.
# caught by: attention_copying.perpendicular, attention_copying.oblique
# region: attention_exploration.py, copying_query, attention copying
return keys[j]
