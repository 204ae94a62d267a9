# Places are compared without regard to case.
# caught by: no_pretraining.london_anywhere
lines = open(eval_corpus_path, encoding="utf-8").read().lower().splitlines()
return sum(line.endswith("\tlondon") for line in lines), len(lines)
