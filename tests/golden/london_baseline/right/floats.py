# The numbers as earlier years' evaluate_places gave them: 2.0 of 5.0.
with open(eval_corpus_path, encoding="utf-8") as file:
    predictions = ["London" for _ in file]
total, correct = evaluate_places(eval_corpus_path, predictions)
return float(correct), float(total)
