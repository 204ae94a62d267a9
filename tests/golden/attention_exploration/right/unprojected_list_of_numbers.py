# A list.
# region: attention_exploration.py, unprojected_output, part key_query_value
return [float(number) for number in ua]
