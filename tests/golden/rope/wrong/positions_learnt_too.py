# A table of learned positions stays beside the rotations.
# edit: model.py | if config.rope or getattr(attention_of(config), "encodes_positions", False): | if False:
# caught by: uses_rope, whole_model
