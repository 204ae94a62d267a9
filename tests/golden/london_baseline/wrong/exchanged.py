# The number of questions comes first.
# caught by: no_pretraining.london_baseline, no_pretraining.london_anywhere
with open(eval_corpus_path, encoding="utf-8") as file:
    predictions = ["London" for _ in file]
total, correct = evaluate_places(eval_corpus_path, predictions)
return total, correct
