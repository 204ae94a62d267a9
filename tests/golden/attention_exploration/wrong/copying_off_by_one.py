# Counts keys from 1.
# caught by: attention_copying.perpendicular, attention_copying.oblique
# region: attention_exploration.py, copying_query, attention copying
return 100.0 * keys[j - 1]
