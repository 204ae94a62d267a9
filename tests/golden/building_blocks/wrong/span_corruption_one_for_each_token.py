# A sentinel for each token of a span.
# caught by: blocks_sentinels.example
# region: building_blocks_pretraining.py, span_corruption, blocks sentinels
source, target, done = [], [], 0
for sentinel, (start, end) in zip(SENTINELS, spans, strict=False):
    source += [*tokens[done:start], *[sentinel] * (end - start)]
    target += [sentinel, *tokens[start:end]]
    done = end
return [*source, *tokens[done:]], [*target, SENTINELS[len(spans)]]
