# Counts without evaluate_places.
correct = total = 0
with open(eval_corpus_path, encoding="utf-8") as file:
    for line in file:
        total += 1
        correct += line.rstrip("\n").split("\t")[1] == "London"
return correct, total
