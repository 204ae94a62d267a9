# A copy of the configuration, with the synthesizer chosen.
# region: helper.py, initialize_synthesizer_model, synthesizer
from dataclasses import replace

attention_model = GPT(replace(mconf, synthesizer=True))
