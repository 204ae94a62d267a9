# The target has no sentinel at its end.
# caught by: blocks_sentinels.example
# region: building_blocks_pretraining.py, span_corruption, blocks sentinels
source, target, done = [], [], 0
for sentinel, (start, end) in zip(SENTINELS, spans, strict=False):
    source += [*tokens[done:start], sentinel]
    target += [sentinel, *tokens[start:end]]
    done = end
return [*source, *tokens[done:]], target
