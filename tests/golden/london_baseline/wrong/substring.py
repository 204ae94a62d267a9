# Places that contain London are counted, such as New London.
# caught by: no_pretraining.london_baseline, no_pretraining.london_anywhere
lines = open(eval_corpus_path, encoding="utf-8").read().splitlines()
return sum("London" in line for line in lines), len(lines)
