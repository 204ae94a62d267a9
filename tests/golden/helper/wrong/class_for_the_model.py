# The class is returned instead of a model.
# caught by: synthesizer.uses_synthesizer, synthesizer.whole_model, pretraining.loads_pretrained
# message of: synthesizer.uses_synthesizer
# region: helper.py, initialize_synthesizer_model, synthesizer
attention_model = GPT
