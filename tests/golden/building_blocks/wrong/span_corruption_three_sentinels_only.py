# Knows of three sentinels.
# caught by: blocks_sentinels.random
# region: building_blocks_pretraining.py, span_corruption, blocks sentinels
source, target, done = [], [], 0
for sentinel, (start, end) in zip(("<X>", "<Y>"), spans, strict=False):
    source += [*tokens[done:start], sentinel]
    target += [sentinel, *tokens[start:end]]
    done = end
return [*source, *tokens[done:]], [*target, SENTINELS[min(len(spans), 2)]]
