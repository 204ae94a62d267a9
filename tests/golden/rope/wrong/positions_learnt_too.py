# A table of learned positions stays beside the rotations.
# edit: model.py | if not config.rope: | if True:
# caught by: uses_rope, whole_model
