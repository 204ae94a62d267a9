# The empty text after the last newline counts as a question.
# caught by: no_pretraining.london_baseline, no_pretraining.london_anywhere
lines = open(eval_corpus_path, encoding="utf-8").read().split("\n")
return sum(line.endswith("\tLondon") for line in lines), len(lines)
