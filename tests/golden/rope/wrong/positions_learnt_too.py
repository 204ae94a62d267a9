# A table of learned positions stays beside the rotations.
# edit: model.py | if config.rope:  # the attention knows | if False:  # the attention knows
# caught by: uses_rope, whole_model
