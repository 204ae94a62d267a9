# The same sentinel for every span.
# caught by: blocks_sentinels.example
# region: building_blocks_pretraining.py, span_corruption, blocks sentinels
source, target, done = [], [], 0
for start, end in spans:
    source += [*tokens[done:start], SENTINELS[0]]
    target += [SENTINELS[0], *tokens[start:end]]
    done = end
return [*source, *tokens[done:]], [*target, SENTINELS[0]]
