# The file of parameters is not read.
# caught by: pretraining.finetune_configuration, pretraining.loads_pretrained
# region: helper.py, finetune, pretraining
pass
