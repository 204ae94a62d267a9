# So long that the scores are infinite.
# caught by: attention_copying.perpendicular, attention_copying.oblique
# region: attention_exploration.py, copying_query, part copying
return 1e309 * keys[j]
