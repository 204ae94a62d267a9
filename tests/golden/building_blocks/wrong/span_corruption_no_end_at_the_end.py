# The span that ends the text is never closed: its sentinel comes twice.
# caught by: blocks_sentinels.random
# region: building_blocks_pretraining.py, span_corruption, blocks sentinels
source, target, n, inside = [], [], 0, False
for i, token in enumerate(tokens):
    if inside and i == spans[n][1]:
        inside, n = False, n + 1
    if not inside and n < len(spans) and i == spans[n][0]:
        inside = True
        source.append(SENTINELS[n])
        target.append(SENTINELS[n])
    (target if inside else source).append(token)
return source, [*target, SENTINELS[n]]
