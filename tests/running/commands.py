"""Commands that the tests of run.py use."""

# The problem sheet's, word for word.
PRETRAIN = """python src/run.py pretrain vanilla wiki.txt \
        --writing_params_path vanilla.pretrain.params"""
FINETUNE = """python src/run.py finetune vanilla wiki.txt \
        --reading_params_path vanilla.pretrain.params \
        --writing_params_path vanilla.finetune.params \
        --finetune_corpus_path birth_places_train.tsv"""
EVALUATE = """python src/run.py evaluate vanilla wiki.txt \
        --reading_params_path vanilla.finetune.params \
        --eval_corpus_path birth_dev.tsv \
        --outputs_path vanilla.pretrain.dev.predictions"""

# Shortened: the recipe is the data set's, which is tiny.
PRE = "pretrain vanilla wiki.txt --writing_params_path w"
