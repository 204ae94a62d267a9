# One prediction is made, whatever the number of questions.
# caught by: no_pretraining.london_baseline, no_pretraining.london_anywhere
total, correct = evaluate_places(eval_corpus_path, ["London"])
return correct, total
