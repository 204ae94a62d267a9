# The token at a span's end is taken out, too.
# caught by: blocks_sentinels.example
# region: building_blocks_pretraining.py, span_corruption, blocks sentinels
source, target, done = [], [], 0
for sentinel, (start, end) in zip(SENTINELS, spans, strict=False):
    source += [*tokens[done:start], sentinel]
    target += [sentinel, *tokens[start : end + 1]]
    done = end + 1
return [*source, *tokens[done:]], [*target, SENTINELS[len(spans)]]
