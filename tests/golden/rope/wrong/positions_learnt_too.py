# A table of learned positions stays beside the rotations.
# edit: model.py | if config.rope:  # the attention encodes | if False:  # the attention encodes
# caught by: uses_rope, whole_model
