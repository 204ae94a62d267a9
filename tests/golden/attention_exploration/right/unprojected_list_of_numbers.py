# A list.
# region: attention_exploration.py, unprojected_output, attention key query value
return [float(number) for number in ua]
