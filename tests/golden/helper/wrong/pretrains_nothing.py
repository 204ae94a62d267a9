# Pretraining is not written.
# caught by: pretraining.pretrain_configuration, pretraining.loads_pretrained
# region: helper.py, pretrain, pretraining
raise NotImplementedError("[pretraining] is yours to write")
